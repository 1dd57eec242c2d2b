import { interleave, ROWS_A_TURN } from "./chunk.ts";

/** An answer of nothing but a list, longer than one turn's work: it is checked and written part by part. Decision 0166. */
export interface LongList {
  data: readonly unknown[];
}

export function isLongList(answer: unknown): answer is LongList {
  if (typeof answer !== "object" || answer === null || !("data" in answer)) return false;
  const { data } = answer;
  return Array.isArray(data) && data.length > ROWS_A_TURN && Object.keys(answer).length === 1;
}

/** The same answer with one part of its list after the other, and a turn for everything else in between. */
export async function* partsOf({ data }: LongList): AsyncGenerator<LongList> {
  for await (const part of interleave(data, ROWS_A_TURN)) yield { data: part };
}

/** The text that `JSON.stringify` gives. */
export async function stringifyList(list: LongList): Promise<string> {
  const texts: string[] = [];
  for await (const { data } of partsOf(list)) texts.push(JSON.stringify(data).slice(1, -1));
  return `{"data":[${texts.join(",")}]}`;
}
