"""In the manner of the released create_pretraining_data.py: one walk, a chunk that grows."""

import numpy as np


def sentence_pairs(documents, index, rng, *, target, random_next=0.5):
    document, instances = documents[index], []
    current_chunk, current_length, i = [], 0, 0
    while i < len(document):
        segment = document[i]
        current_chunk.append(segment)
        current_length += len(segment)
        if i == len(document) - 1 or current_length >= target:
            a_end = 1
            if len(current_chunk) >= 2:
                a_end = int(rng.integers(1, len(current_chunk)))
            tokens_a = []
            for j in range(a_end):
                tokens_a.extend(current_chunk[j])
            tokens_b = []
            if len(current_chunk) == 1 or rng.random() < random_next:
                is_random_next = True
                target_b_length = target - len(tokens_a)
                random_index = index
                while random_index == index:
                    random_index = int(rng.integers(0, len(documents)))
                random_document = documents[random_index]
                for j in range(int(rng.integers(0, len(random_document))), len(random_document)):
                    tokens_b.extend(random_document[j])
                    if len(tokens_b) >= target_b_length:
                        break
                i -= len(current_chunk) - a_end
            else:
                is_random_next = False
                for j in range(a_end, len(current_chunk)):
                    tokens_b.extend(current_chunk[j])
            instances.append((tokens_a, tokens_b, int(is_random_next)))
            current_chunk, current_length = [], 0
        i += 1
    return instances


def truncate_pair(a, b, room, rng):
    a, b = a[:], b[:]
    while True:
        if len(a) + len(b) <= room:
            return a, b
        if len(a) > len(b):
            a = a[1:] if rng.random() < 0.5 else a[:-1]
        else:
            b = b[1:] if rng.random() < 0.5 else b[:-1]


def frame_pair(a, b, *, seq_length, cls_id, sep_id, pad_id):
    tokens, segment_ids = [], []
    tokens.append(cls_id)
    segment_ids.append(0)
    for token in a:
        tokens.append(token)
        segment_ids.append(0)
    tokens.append(sep_id)
    segment_ids.append(0)
    for token in b:
        tokens.append(token)
        segment_ids.append(1)
    tokens.append(sep_id)
    segment_ids.append(1)
    mask = [1] * len(tokens)
    while len(tokens) < seq_length:
        tokens.append(pad_id)
        segment_ids.append(0)
        mask.append(0)
    return np.array(tokens), np.array(segment_ids), np.array(mask)
