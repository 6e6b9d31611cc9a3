"""Why did a fine-tuned model say so? Words that mattered, words that were looked at, in colour.

`words` (tokens back to words), `cases` (which logits decided), `mattered` (gradient × input),
`looks` (both for every word, and a test of them), then `terminal`, `page` and `picture`.
"""
