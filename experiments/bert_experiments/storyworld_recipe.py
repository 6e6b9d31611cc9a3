"""The recipe from which the studies on StoryWorld start: a narrow BERT of the paper's proportions.

It was that of `make demo` until Muon and a narrow feed-forward network halved the demo's time
(results/demo_recipe.md). The studies keep it: their results were measured with it, level 1 can
train it, and every part of it is the paper's or changes only how fast it learns.
"""

from pathlib import Path

from bert_paper.pretrain import PretrainSettings

STORYWORLD = PretrainSettings(
    corpus="storyworld", out=Path("runs/storyworld"),
    model="tiny", num_attention_heads=4, vocab_size=4096, initialization="mimetic",
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, masked_lm_prob=0.2,
    seq_length=128, batch_size=32, short_seq_length=64, short_batch_size=64, short_share=0.3,
    steps=4500, warmup_steps=200, learning_rate=2.5e-3, optimizer="adamw", adam_beta2=0.98,
    eval_every=1125, eval_examples=512, save_every=2250,
)  # fmt: skip
