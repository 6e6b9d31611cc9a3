"""What the course's files name of the `zstandard` library. A page reads no .zst file."""


class ZstdError(Exception):
    """A file that cannot be read."""


class ZstdDecompressor:
    def decompressobj(self) -> None:
        raise ZstdError(".zst files cannot be read in the page: use the course on your machine")
