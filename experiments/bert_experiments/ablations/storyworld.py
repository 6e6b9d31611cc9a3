"""`python -m bert_experiments.ablations.storyworld`: a narrow BERT of the paper's proportions.

The studies on StoryWorld start from this recipe, or from the model that it leaves in
`runs/storyworld`. It was that of `make demo` until Muon and narrower feed-forward networks nearly
halved the demo's time (results/demo.md). The studies keep it: their results were measured with it,
and level 1 can train it too.
"""

from pathlib import Path

from bert_paper.pretrain import PretrainSettings, pretrain
from bert_run.errors import command

STORYWORLD = PretrainSettings(
    corpus="storyworld", out=Path("runs/storyworld"),
    model="tiny", num_attention_heads=4, vocab_size=4096, initialization="mimetic",
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, masked_lm_prob=0.2,
    seq_length=128, batch_size=32, short_seq_length=64, short_batch_size=64, short_share=0.3,
    steps=4500, warmup_steps=200, learning_rate=2.5e-3, optimizer="adamw", adam_beta2=0.98,
    eval_every=1125, eval_examples=512, save_every=2250,
)  # fmt: skip


@command
def main() -> None:
    pretrain(STORYWORLD).conclude()


if __name__ == "__main__":
    main()
