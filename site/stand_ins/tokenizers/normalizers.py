"""Text as BERT's tokenizer sees it."""


class Normalizer:
    """What normalizes a text."""


class BertNormalizer(Normalizer):
    def __init__(
        self, clean_text: bool = True, handle_chinese_chars: bool = True,
        strip_accents: bool | None = None, lowercase: bool = True,
    ) -> None:  # fmt: skip
        self.clean_text, self.handle_chinese_chars = clean_text, handle_chinese_chars
        self.strip_accents, self.lowercase = strip_accents, lowercase

    def normalize_str(self, text: str) -> str:
        from bert_corpus import wordpiece

        if text.isascii() and text.isprintable():  # most texts; below, the same in five steps
            return text.lower() if self.lowercase else text
        if self.clean_text:
            text = wordpiece.clean(text)
        if self.handle_chinese_chars:
            text = wordpiece.space_chinese(text)
        if self.lowercase if self.strip_accents is None else self.strip_accents:
            text = wordpiece.strip_accents(text)
        return "".join(char.lower() for char in text) if self.lowercase else text
