"""Which schedule an operator gets: the schedules, and the strategies that choose among them."""
