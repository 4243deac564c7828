"""Greedy suppression of overlapping boxes."""

from __future__ import annotations

import numpy as np


def all_class_non_max_suppression(
    boxes: np.ndarray,
    scores: np.ndarray,
    *,
    max_output_boxes_per_class: int,
    iou_threshold: float,
    score_threshold: float | None,
    center_point_box: bool,
) -> np.ndarray:
    """(batch, class, box) of the boxes that are kept, int64: in each class by falling score.

    boxes: [N, B, 4], scores: [N, C, B].
    """
    corners = _corners(boxes, center_point_box)
    kept: list[tuple[int, int, int]] = []
    for n in range(boxes.shape[0]):
        for c in range(scores.shape[1]):
            chosen = _kept(
                corners[n], scores[n, c], max_output_boxes_per_class, iou_threshold, score_threshold
            )
            kept.extend([(n, c, box) for box in chosen])
    return np.array(kept, np.int64).reshape(-1, 3)


def non_max_suppression(
    data: np.ndarray,
    valid_count: np.ndarray,
    indices: np.ndarray,
    *,
    max_output_size: int,
    iou_threshold: float,
    force_suppress: bool,
    top_k: int,
    coord_start: int,
    score_index: int,
    id_index: int,
    invalid_to_bottom: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The boxes by falling score, with -1 for those that are left out; the numbers of those kept; how many.

    data: [N, A, E], valid_count: [N], indices: [N, A]; results [N, A, E], [N, A] and [N, 1], both int32.
    """
    out = np.full_like(data, -1)
    numbers = np.full(data.shape[:2], -1, np.int32)
    counts = np.zeros((data.shape[0], 1), np.int32)
    for n in range(data.shape[0]):
        rows = data[n, : max(int(valid_count[n]), 0)]
        order = np.argsort(-rows[:, score_index], kind="stable")
        order = order[:top_k] if top_k > 0 else order
        boxes = _corners(rows[order, coord_start : coord_start + 4], center_point_box=False)
        possible = rows[order, score_index] > 0
        classes = np.zeros(order.size) if id_index < 0 else rows[order, id_index]
        if id_index >= 0:
            possible &= classes >= 0
        kept: list[int] = []
        for j in np.flatnonzero(possible).tolist():
            if len(kept) == max_output_size:
                break
            rivals = [k for k in kept if force_suppress or classes[k] == classes[j]]
            if iou_threshold <= 0 or not np.any(_overlap(boxes[j], boxes[rivals]) >= iou_threshold):
                kept.append(j)
        places = list(range(len(kept))) if invalid_to_bottom else kept
        out[n, places] = rows[order[kept]]
        numbers[n, : len(kept)] = indices[n, order[kept]]
        counts[n] = len(kept)
    return out, numbers, counts


def _corners(boxes: np.ndarray, center_point_box: bool) -> np.ndarray:
    """The low and the high corner of each box."""
    if center_point_box:
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        return np.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], axis=-1)
    low, high = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(low, high), np.maximum(low, high)], axis=-1)


def _kept(
    corners: np.ndarray, scores: np.ndarray, most: int, iou_threshold: float, score_threshold: float | None
) -> list[int]:
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    if score_threshold is not None:
        order = order[scores[order] > score_threshold]
    kept: list[int] = []
    while order.size and len(kept) < most:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        order = order[_overlap(corners[best], corners[order]) <= iou_threshold]
    return kept


def _overlap(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union; 0 where a box is empty."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    both = np.prod(np.maximum(sides, 0), axis=-1)
    union = np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], axis=-1) - both
    result: np.ndarray = np.zeros_like(both)
    np.divide(both, union, out=result, where=union > 0)
    return result
