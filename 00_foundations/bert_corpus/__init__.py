"""From text to padded sentence pairs: documents, sentences, WordPiece, token store, pairs."""
