"""Tokens put together to a text."""

# What the library takes out of a text that was put together, in its order.
CLOSER = ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
          (" 'm", "'m"), (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
          )  # fmt: skip


class WordPiece:
    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        self.prefix, self.cleanup = prefix, cleanup

    def decode(self, tokens: list[str]) -> str:
        parts = []
        for number, token in enumerate(tokens):
            continues = number > 0 and token.startswith(self.prefix)
            text = token.removeprefix(self.prefix) if continues else f"{' ' * (number > 0)}{token}"
            for apart, close in CLOSER if self.cleanup else ():
                text = text.replace(apart, close)
            parts.append(text)
        return "".join(parts)
