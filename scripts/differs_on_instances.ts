/**
 * Tests that fail on two instances for a reason of their own: they look into one instance, or change it, while their
 * requests go to both; or they hold numbers of DuckDB. Without `test`: the whole file.
 */
export const DIFFERS: readonly { file: string; test?: string; why: string }[] = [];
