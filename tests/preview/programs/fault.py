"""Has a fault of its own."""


def divide() -> float:
    return 1 / 0


divide()
