/** Counts the turns of the event loop that others had during `work`. */
export async function turnsDuring<T>(work: () => Promise<T>): Promise<{ turns: number; result: T }> {
  let turns = 0;
  let is_over = false;
  const count = (): void => {
    turns += 1;
    if (!is_over) setImmediate(count);
  };
  setImmediate(count);
  const result = await work();
  is_over = true;
  return { turns, result };
}
