"""`bert-pretrain`: from a corpus to a pretrained BERT, in one command that resumes by itself."""

import torch
import tyro

from bert_paper.data import masking_vocabulary
from bert_paper.device import choose_device, choose_precision
from bert_paper.model import BertForPreTraining, load_arrays, to_arrays
from bert_paper.optimizer import make_optimizer, state_from_arrays, state_to_arrays
from bert_paper.settings import PretrainSettings
from bert_paper.training import Task, train
from bert_run.errors import UserError, command
from bert_run.metrics import Record
from bert_run.pretraining_run import PretrainingRun


def pretrain(settings: PretrainSettings) -> PretrainingRun:
    """Run or continue a pretraining run."""
    device = choose_device(settings.device)
    precision = choose_precision(settings.precision, device)
    tensorboard = open_tensorboard(settings) if settings.tensorboard else None
    run = PretrainingRun(settings)
    model = BertForPreTraining(run.config).to(device)
    load_arrays(model, run.weights)
    adam = settings.adam(run.config)
    optimizer = make_optimizer(model, adam, name=settings.optimizer)
    state_from_arrays(optimizer, model, run.training_state)
    run.introduce(
        f"on {device} in {str(precision).removeprefix('torch.')}, {torch.get_num_threads()} threads"
    )

    def task(part: str, seq_length: int) -> Task:
        return Task(
            dataset=getattr(run.data, part).at_length(seq_length),
            vocabulary=masking_vocabulary(run.data).to(device),
            recipe=settings.masking,
            seed=settings.seed + (part == "heldout"),
            device=device,
            precision=precision,
        )

    def record(entry: Record) -> None:
        run.record(entry)
        for name, value in entry.items() if tensorboard is not None else ():
            if name != "step":
                tensorboard.add_scalar(name, value, entry["step"])

    train(
        model,
        optimizer,
        [
            (task("train", phase.seq_length), task("heldout", phase.seq_length))
            for phase in settings.phases
        ],
        settings,
        peak_rate=adam.learning_rate,
        start=run.start,
        record=record,
        save=lambda step: run.save(step, to_arrays(model), state_to_arrays(optimizer, model)),
    )
    if tensorboard is not None:
        tensorboard.close()
    return run


def open_tensorboard(settings: PretrainSettings):
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            "--tensorboard needs the package tensorboard: pip install tensorboard"
        ) from None
    return SummaryWriter(settings.out / "tensorboard")


@command
def main() -> None:
    pretrain(tyro.cli(PretrainSettings, prog="bert-pretrain")).conclude()


if __name__ == "__main__":
    main()
