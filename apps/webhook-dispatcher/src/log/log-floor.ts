/** In a statement: the position below which nothing is read or recorded any more, because its day is dropped or will be. */
export const logFloor = '(select f.seq from log_floor f where f.id = 1)';
