"""The model of a tokenizer: its vocabulary."""


class WordPiece:
    def __init__(
        self, vocab: dict[str, int], *, unk_token: str = "[UNK]",
        max_input_chars_per_word: int = 100,
    ) -> None:  # fmt: skip
        self.vocab, self.unk_token = dict(vocab), unk_token
        self.max_input_chars_per_word = max_input_chars_per_word
