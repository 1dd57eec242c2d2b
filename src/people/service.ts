import { Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { operation } from "../app/operation.ts";
import { readTx, transaction } from "../app/transaction.ts";
import { AppError } from "../core/errors.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { pagedList } from "../core/pagination.ts";
import { ById, Nothing, paged } from "../core/schema.ts";
import { listUsedContents } from "../loans/documents/queries.ts";
import { listUnbilledClients } from "./client_queries.ts";
import {
  FindPerson,
  ListPersonErasures,
  PersonErasure,
  type PersonPreview,
  PersonPreviews,
} from "./model.ts";
import * as queries from "./queries.ts";
import type { LookTx } from "./subject_queries.ts";
import { eraseSubjects, findSubjects, previewSubjects } from "./subjects.ts";
import { findTexts, scrubTexts, TEXT_TABLES } from "./text_queries.ts";
import { type Scrub, scrubbing, type Traces } from "./traces.ts";

/** Previews what an erasure would take. Errors: invalid unless exactly one field is given, not_found. */
export const previewPersonErasure = operation({
  name: "preview_person_erasure",
  permission: "people:erase",
  unaudited: true,
  input: FindPerson,
  output: PersonPreviews,
  async run(ctx, find) {
    const tx = { ...readTx(ctx), kept_since: keptSince(ctx) };
    return { subjects: await preview(ctx, tx, find) };
  },
});

/**
 * Erases a person: what is about the person at once, what texts elsewhere say by a job, within seconds. Sessions end at
 * once. Errors: invalid, not_found; conflict while something is in force that needs the person: nothing is erased then.
 * Decision 0207.
 */
export const erasePerson = operation({
  name: "erase_person",
  permission: "people:erase",
  target: "person_erasure",
  withholds: ["email"],
  input: FindPerson,
  output: PersonErasure,
  run: (ctx, find) =>
    transaction(ctx, async (tx) => {
      const erasure_tx = { ...tx, kept_since: keptSince(ctx) };
      const previews = await preview(ctx, erasure_tx, find);
      const blocked = previews.find((subject) => subject.blocked !== null);
      if (blocked)
        throw new AppError("conflict", `Cannot erase ${blocked.kind} ${blocked.id}: ${blocked.blocked}`);
      const subjects = previews.map(({ kind, id }) => ({ kind, id }));
      const erasure = await queries.insertPersonErasure(tx, subjects);
      const erased = await eraseSubjects(erasure_tx, subjects);
      await queries.saveTraces(tx, erasure.id, erased);
      return { ...erasure, records: erased.records };
    }),
});

/** Lists the company's erasures of people, newest first. */
export const listPersonErasures = operation({
  name: "list_person_erasures",
  permission: "people:erase",
  unaudited: true,
  input: ListPersonErasures,
  output: paged(PersonErasure),
  run: (ctx, { page, limit, ...order }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listPersonErasures(readTx(ctx), order, slice),
    ),
});

/** Carries out the company's erasures of people, each from its beginning where a process was killed. */
export const carryOutPersonErasures = operation({
  name: "carry_out_person_erasures",
  permission: "people:erase",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    while (!ctx.background.is_stopping) {
      const erasure = await queries.findPendingPersonErasure(readTx(ctx));
      if (erasure === undefined || !(await carryOut(ctx, erasure))) break;
    }
    return {};
  },
});

/**
 * Erases deleted clients whose last subscription ended BILL_RETENTION_YEARS ago, some at a time: their bills keep amounts
 * and quantities. Decision 0208.
 */
export const applyBillRetention = operation({
  name: "apply_bill_retention",
  permission: "people:erase",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    while (!ctx.background.is_stopping) {
      const clients = await transaction(ctx, async (tx) => {
        const erasure_tx = { ...tx, kept_since: keptSince(ctx) };
        const ids = await listUnbilledClients(erasure_tx, CLIENTS);
        const subjects = ids.map((id) => ({ kind: "client" as const, id }));
        if (subjects.length === 0) return 0;
        const { id } = await queries.insertPersonErasure(tx, subjects);
        await queries.saveTraces(tx, id, await eraseSubjects(erasure_tx, subjects));
        return subjects.length;
      });
      if (clients < CLIENTS) break;
    }
    return {};
  },
});

/** Clients that the retention of bills erases in one transaction. */
const CLIENTS = 50;

/** Some of the company's erasures that are not beside the backups yet. */
export const listUnshippedPeople = operation({
  name: "list_unshipped_people",
  permission: "people:erase",
  unaudited: true,
  input: Nothing,
  output: Type.Object({ rows: Type.Array(Type.Unsafe<queries.ErasedPeople>(Type.Any())) }),
  run: async (ctx) => ({ rows: await queries.listUnshippedErasures(readTx(ctx), UNSHIPPED) }),
});

const UNSHIPPED = 100;

/** Records that an erasure is beside the backups. */
export const markPeopleShipped = operation({
  name: "mark_people_shipped",
  permission: "people:erase",
  unaudited: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    await transaction(ctx, (tx) => queries.markErasureShipped(tx, id));
    return {};
  },
});

/** The instant before which a subscription must have ended so that its bills name nobody. */
function keptSince({ now, config }: Context): Temporal.Instant {
  return now.toZonedDateTimeISO("UTC").subtract({ years: config.bill_retention_years }).toInstant();
}

/** Errors: invalid, not_found. */
async function preview({ actor }: Context, tx: LookTx, find: FindPerson): Promise<PersonPreview[]> {
  const previews = await previewSubjects(tx, await findSubjects(tx, find));
  // The entry of the erasure names who did it.
  const isSelf = ({ kind, id }: PersonPreview) =>
    kind === "user" && actor.kind === "user" && actor.user_id === id;
  return previews.map((subject) =>
    isSelf(subject) ? { ...subject, blocked: "nobody erases themselves: another admin can" } : subject,
  );
}

type Pending = NonNullable<Awaited<ReturnType<typeof queries.findPendingPersonErasure>>>;

/** Returns whether it is done: false while a backup reads the files, or when the process is about to end. */
async function carryOut(ctx: Context, { id, subjects, traces }: Pending): Promise<boolean> {
  // Without traces it has not begun: it is one of before a restore.
  const { texts, numbers, files } = traces ?? (await begin(ctx, id, subjects));
  const scrub = scrubbing({ texts, numbers, files });
  if (scrub !== null && !(await scrubAll(ctx, id, scrub))) return false;
  if (files.length > 0) {
    if (await ctx.documents.isHeld()) return false;
    const { company_id } = readTx(ctx).scope;
    await ctx.documents.removeUnused(company_id, files, (some) => listUsedContents(readTx(ctx), some));
  }
  await transaction(ctx, async (tx) => {
    // Once more, for what was under way at the request: a failed sign-in is on record a moment later.
    await eraseSubjects({ ...tx, kept_since: keptSince(ctx) }, subjects);
    await queries.finishPersonErasure(tx, id);
  });
  return true;
}

function begin(ctx: Context, id: number, subjects: Pending["subjects"]): Promise<Traces> {
  return transaction(ctx, async (tx) => {
    const erased = await eraseSubjects({ ...tx, kept_since: keptSince(ctx) }, subjects);
    await queries.saveTraces(tx, id, erased);
    return erased.traces;
  });
}

/** Looks through all texts of the company, page by page. Returns whether it came to the end. */
async function scrubAll(ctx: Context, erasure_id: number, scrub: Scrub): Promise<boolean> {
  for (const table of TEXT_TABLES) {
    for (let after_id: number | null = 0; after_id !== null; ) {
      if (ctx.background.is_stopping) return false;
      const { found, next } = await findTexts(readTx(ctx), table, { after_id, scrub });
      if (found.length > 0) {
        await transaction(ctx, async (tx) => {
          await scrubTexts(tx, table, { ids: found, scrub });
          await queries.countRecords(tx, erasure_id, found.length);
        });
      }
      after_id = next;
      await Bun.sleep(0);
    }
  }
  return true;
}
