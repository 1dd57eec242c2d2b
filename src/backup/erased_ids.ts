import { readText, piecesOf, type Target } from "./target.ts";

/** Ids of erased events of one company, as the records have them. */
export interface ErasedIds {
  readonly id: number;
  readonly company_id: number;
  readonly ids: string;
}

const FOLDER = "erasures/";
const NAME = /^erasures\/(\d+)-(\d+)\.ids$/;

/** The names of the ids that are beside the points. */
export async function listErasedIds(target: Target): Promise<ReadonlySet<string>> {
  return new Set((await target.list(FOLDER)).map(({ name }) => name));
}

/**
 * Writes ids of erased events beside the points, so that a restore of an earlier one erases them too; those that are in
 * `there` already are not written again.
 */
export async function writeErasedIds(
  target: Target,
  { id, company_id, ids }: ErasedIds,
  there: ReadonlySet<string>,
): Promise<void> {
  const name = `${FOLDER}${company_id}-${id}.ids`;
  if (!there.has(name)) await target.write(name, piecesOf(ids));
}

/** Reads all ids that are beside the points. */
export async function* readErasedIds(target: Target): AsyncGenerator<ErasedIds> {
  for (const name of await listErasedIds(target)) {
    const [, company_id, id] = NAME.exec(name) ?? [];
    if (company_id === undefined || id === undefined) continue;
    yield { company_id: Number(company_id), id: Number(id), ids: await readText(target, name) };
  }
}
