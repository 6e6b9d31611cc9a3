"""`bert-pretrain`: from a corpus to a pretrained BERT, in one command that resumes by itself."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import torch
import tyro

from bert_corpus.wordpiece import save_tokenizer
from bert_paper.data import PretrainingData, masking_vocabulary, pair_report, prepare
from bert_paper.device import choose_device, choose_precision
from bert_paper.model import BertForPreTraining, load_arrays, to_arrays
from bert_paper.optimizer import make_optimizer, state_from_arrays, state_to_arrays
from bert_paper.settings import PretrainSettings
from bert_paper.training import Task, train
from bert_run.curve import draw_curve
from bert_run.errors import UserError, command
from bert_run.files import write_atomically
from bert_run.metrics import MetricsLog, Record, read_metrics
from bert_run.parameters import count_parameters, initial_weights, make_mimetic, parameter_shapes
from bert_run.run_folder import Checkpoint, RunFolder

# What may differ between two calls that continue one run.
FREE_TO_CHANGE = {"out", "device", "compile", "eval_every", "eval_examples", "save_every",
                  "tensorboard", "micro_batch_size"}  # fmt: skip


def pretrain(settings: PretrainSettings) -> Record:
    """Run or continue a pretraining run; returns its last held-out measurements."""
    device = choose_device(settings.device)
    precision = choose_precision(settings.precision, device)
    tensorboard = open_tensorboard(settings) if settings.tensorboard else None
    settings.bert_config(settings.vocab_size or 8192)  # a contradiction shows before long work

    folder = RunFolder(settings.out)
    is_new = folder.claim(identity(settings))
    try:
        data = prepare(settings, settings.out / "data")
    except UserError:
        if is_new:  # the same command, corrected, must find the folder free
            folder.give_up()
        raise
    config = settings.bert_config(data.tokenizer.get_vocab_size()).with_changes(
        pad_token_id=data.train.specials.pad
    )
    model = BertForPreTraining(config).to(device)
    adam = settings.adam(config)
    optimizer = make_optimizer(model, adam, name=settings.optimizer)

    checkpoint = folder.resume(config)
    start = 0 if checkpoint is None else checkpoint.step
    if checkpoint is None:
        weights = initial_weights(config, settings.seed)
        if settings.initialization == "mimetic":
            weights = make_mimetic(weights, config, settings.seed)
        load_arrays(model, weights)
    else:
        load_arrays(model, checkpoint.weights)
        state_from_arrays(optimizer, model, checkpoint.training_state)
        say(f"going on from step {start:,} of {settings.steps:,}")
    introduce(settings, data, model, device, precision)

    log = MetricsLog(settings.out / "metrics.jsonl", resume_at=start)
    entropy = data.unigram_entropy()

    def record(entry: Record) -> None:
        log.append(entry)
        if tensorboard is not None:
            for name, value in entry.items():
                if name != "step":
                    tensorboard.add_scalar(name, value, entry["step"])

    def save(step: int) -> None:
        moments = state_to_arrays(optimizer, model)
        folder.save(
            Checkpoint(step, to_arrays(model), moments),
            config,
            lambda place: save_tokenizer(
                data.tokenizer, place, model_max_length=config.max_position_embeddings
            ),
        )
        draw_curve(
            read_metrics(log.path),
            settings.out / "curve.png",
            title=f"{settings.model} on {settings.corpus}, {step:,} steps",
            references={f"word frequencies alone: {entropy:.2f}": entropy},
            turns={
                p.first_step: f"from here on {p.seq_length} tokens" for p in settings.phases[1:]
            },
        )

    def task(part: str, seq_length: int) -> Task:
        return Task(
            dataset=getattr(data, part).at_length(seq_length),
            vocabulary=masking_vocabulary(data.tokenizer).to(device),
            recipe=settings.masking,
            seed=settings.seed + (part == "heldout"),
            device=device,
            precision=precision,
        )

    train(
        model,
        optimizer,
        [
            (task("train", phase.seq_length), task("heldout", phase.seq_length))
            for phase in settings.phases
        ],
        settings,
        peak_rate=adam.learning_rate,
        start=start,
        record=record,
        save=save,
    )
    if tensorboard is not None:
        tensorboard.close()
    final = [r for r in read_metrics(log.path) if "heldout_mlm_loss" in r][-1]
    return {**final, "heldout_unigram_entropy": entropy}


def identity(settings: PretrainSettings) -> dict:
    """The settings that make the run what it is, as they stand in `run.json`."""
    fields = {k: v for k, v in asdict(settings).items() if k not in FREE_TO_CHANGE}
    return json.loads(json.dumps(fields, default=str))


def open_tensorboard(settings: PretrainSettings):
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            "--tensorboard needs the package tensorboard: pip install tensorboard"
        ) from None
    return SummaryWriter(settings.out / "tensorboard")


def introduce(
    settings: PretrainSettings,
    data: PretrainingData,
    model: BertForPreTraining,
    device: torch.device,
    precision: torch.dtype,
) -> None:
    """Say what will be trained on what, and write the report of the data beside it."""
    report = {**data.train.corpus.report, **pair_report(data.train)}
    write_atomically(settings.out / "data" / "report.json", json.dumps(report, indent=2) + "\n")
    config = model.config
    parameters = count_parameters(parameter_shapes(config))
    say(
        f"corpus      {settings.corpus}: {report['documents']:,} documents, "
        f"{report['sentences']:,} sentences, {report['tokens']:,} tokens, "
        f"{report['unknown_share']:.2%} unknown"
    )
    say(
        f"pairs       {report['random_next_share']:.1%} with a random next sentence, "
        f"{report['padding_share']:.1%} padding at length {settings.seq_length}"
    )
    say(
        f"model       {config.num_hidden_layers} layers, {config.hidden_size} wide, "
        f"{config.num_attention_heads} heads, {config.vocab_size:,} words: "
        f"{parameters:,} parameters"
    )
    say(f"computing   on {device} in {str(precision).removeprefix('torch.')}, "
        f"{torch.get_num_threads()} threads; the run's folder is {settings.out}")  # fmt: skip


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@command
def main() -> None:
    settings = tyro.cli(PretrainSettings, prog="bert-pretrain")
    final = pretrain(settings)
    print(
        f"\nheld out: masked words, loss {final['heldout_mlm_loss']:.3f} "
        f"(word frequencies alone: {final['heldout_unigram_entropy']:.3f}), "
        f"{final['heldout_mlm_accuracy']:.1%} right; next sentence, loss "
        f"{final['heldout_nsp_loss']:.3f}, {final['heldout_nsp_accuracy']:.1%} right\n"
        f"model:    {settings.out}      curve: {Path(settings.out) / 'curve.png'}\n"
        f'try:      bert-fill-mask "The [MASK] sat on the mat." --checkpoint {settings.out}'
    )


if __name__ == "__main__":
    main()
