"""Normalized text cut into words and punctuation marks."""

import re

ASCII_WORD = re.compile(r"[a-zA-Z0-9]+|[^a-zA-Z0-9\s]")


class BertPreTokenizer:
    def pre_tokenize_str(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """The words, each with its first character and the one after its last."""
        from bert_corpus.wordpiece import is_punctuation

        if text.isascii() and text.isprintable():  # most texts
            return [(found[0], found.span()) for found in ASCII_WORD.finditer(text)]
        words, start = [], None
        for place, char in enumerate(text):
            apart = char.isspace() or is_punctuation(char)
            if apart and start is not None:
                words.append((text[start:place], (start, place)))
                start = None
            if apart and not char.isspace():
                words.append((char, (place, place + 1)))
            elif not apart and start is None:
                start = place
        if start is not None:
            words.append((text[start:], (start, len(text))))
        return words
