"""Why did a fine-tuned model answer so? Gradient × input and attention weights, word by word.

`cases` (the words of an answer, and which logits decided), `attribution` (both values of every
word, and a test of them), `render` (terminal, HTML, picture).
"""
