import { Type } from "@sinclair/typebox";
import { decode } from "../core/validate.ts";
import { Subject } from "../people/model.ts";
import type { ErasedPeople } from "../people/queries.ts";
import { readText, piecesOf, type Target } from "./target.ts";

/** Ids of erased events of one company, as the records have them. */
export interface ErasedIds {
  readonly id: number;
  readonly company_id: number;
  readonly ids: string;
}

const FOLDER = "erasures/";
const NAME = /^erasures\/(\d+)-(\d+)\.ids$/;

const PEOPLE_NAME = /^erasures\/people-(\d+)-(\d+)\.json$/;

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

/** Writes who was erased beside the points, as ids; what is in `there` already is not written again. */
export async function writeErasedPeople(
  target: Target,
  { id, company_id, subjects }: ErasedPeople,
  there: ReadonlySet<string>,
): Promise<void> {
  const name = `${FOLDER}people-${company_id}-${id}.json`;
  if (!there.has(name)) await target.write(name, piecesOf(JSON.stringify(subjects)));
}

/** Reads who was erased, by all erasures that are beside the points. */
export async function* readErasedPeople(target: Target): AsyncGenerator<ErasedPeople> {
  for (const name of await listErasedIds(target)) {
    const [, company_id, id] = PEOPLE_NAME.exec(name) ?? [];
    if (company_id === undefined || id === undefined) continue;
    const subjects = decode(Type.Array(Subject), JSON.parse(await readText(target, name)));
    yield { company_id: Number(company_id), id: Number(id), subjects };
  }
}
