"""What surrounds the tokens of a text."""


class TemplateProcessing:
    """[CLS] and [SEP] at BERT's places: `Tokenizer.encode` knows no other template."""

    def __init__(self, *, single: str, pair: str, special_tokens: list[tuple[str, int]]) -> None:
        self.single, self.pair, self.special_tokens = single, pair, special_tokens
