import { and, asc, eq, gte, isNotNull, isNull, lt, not, or, type SQL, sql } from "drizzle-orm";
import { selectRows } from "../../store/select_rows.ts";
import type { Queries, Reads, Store } from "../../store/store.ts";
import type {
  LaneHolder,
  LaneRows,
  LaneState,
  SeenLane,
  TakenLane,
} from "../../usage_store/clickhouse/lanes/lane_rows.ts";
import { OWNED_MS, WANTED_MS } from "../../usage_store/clickhouse/lanes/limits.ts";
import { usageLaneTable } from "./tables.ts";

/** PostgreSQL's own time: only there are several instances. */
const NOW = sql`clock_timestamp()`;

const later = (ms: number): SQL => sql`${NOW} + ${ms} * interval '1 millisecond'`;

/** What changes of a row. */
interface Change {
  epoch?: number;
  closed_epoch?: number;
  expires_at?: SQL;
  owner_id?: null;
  owner_url?: null;
}

/** The rows of lanes in PostgreSQL. Each change is a transaction of one statement. */
export class DatabaseLaneRows implements LaneRows {
  readonly #store: Pick<Store, "read" | "tx">;

  private constructor(store: Pick<Store, "read" | "tx">) {
    this.#store = store;
  }

  /** Makes rows for lanes that have none. The next epochs of all are later than `after_epoch`. */
  static async open(
    store: Pick<Store, "read" | "tx">,
    lanes: number,
    after_epoch = 0,
  ): Promise<DatabaseLaneRows> {
    const made = Array.from({ length: lanes }, (_, lane) => ({
      lane,
      epoch: after_epoch,
      closed_epoch: after_epoch,
      expires_at: NOW,
      least_epoch: 0,
    }));
    await store.tx(async (q) => {
      const t = q.use(usageLaneTable);
      await q.delete(t).where(gte(t.lane, lanes));
      await q.insert(t).values(made).onConflictDoNothing();
      if (after_epoch > 0)
        await q
          .update(t)
          .set({ epoch: after_epoch })
          .where(and(lt(t.epoch, after_epoch), not(isOwned(q) ?? sql`false`)));
    });
    return new DatabaseLaneRows(store);
  }

  async list({ id }: LaneHolder): Promise<LaneState[]> {
    const q = this.#store.read;
    const t = q.use(usageLaneTable);
    const { lane, epoch, closed_epoch, owner_id, owner_url, expires_at, wanted_by, least_epoch } = t;
    const columns = { lane, epoch, closed_epoch, owner_id, owner_url, expires_at, wanted_by, least_epoch };
    const is_owned = sql`(${isOwned(q)})`.mapWith(Boolean);
    const is_free = sql`(${isFreeFor(q, id)})`.mapWith(Boolean);
    const rows = await selectRows(q, t, { columns: { ...columns, is_owned, is_free }, order: asc(t.lane) });
    return rows.map((row) => ({
      lane: row.lane,
      epoch: row.epoch,
      closed_epoch: row.closed_epoch,
      owner: row.is_owned && row.owner_id !== null ? { id: row.owner_id, url: row.owner_url } : null,
      is_free: row.is_free,
      stamp: row.expires_at,
      wanted_by: row.wanted_by,
      least_epoch: row.least_epoch,
    }));
  }

  async take({ lane, epoch, stamp }: SeenLane, { id, url }: LaneHolder): Promise<TakenLane | null> {
    return this.#store.tx(async (q) => {
      const t = q.use(usageLaneTable);
      const [taken] = await q
        .update(t)
        .set({
          epoch: sql`${t.epoch} + 1`,
          owner_id: id,
          owner_url: url,
          expires_at: later(OWNED_MS),
          wanted_by: null,
        })
        .where(and(eq(t.lane, lane), eq(t.epoch, epoch), eq(t.expires_at, stamp)))
        .returning({ epoch: t.epoch, closed_epoch: t.closed_epoch });
      return taken ?? null;
    });
  }

  renew(lane: number, epoch: number): Promise<boolean> {
    return this.#change(lane, epoch, { expires_at: later(OWNED_MS) });
  }

  recordClosed(lane: number, epoch: number): Promise<boolean> {
    return this.#change(lane, epoch, { closed_epoch: epoch - 1 });
  }

  advance(lane: number, epoch: number, to: number): Promise<boolean> {
    return this.#change(lane, epoch, { epoch: to, closed_epoch: to - 1 });
  }

  release(lane: number, epoch: number): Promise<boolean> {
    return this.#change(lane, epoch, {
      closed_epoch: epoch,
      owner_id: null,
      owner_url: null,
      expires_at: NOW,
    });
  }

  async want(lane: number, { id }: LaneHolder): Promise<void> {
    await this.#store.tx((q) => {
      const t = q.use(usageLaneTable);
      return q
        .update(t)
        .set({ wanted_by: id })
        .where(and(eq(t.lane, lane), isNull(t.wanted_by)));
    });
  }

  async raise(least_epoch: number): Promise<void> {
    await this.#store.tx((q) => {
      const t = q.use(usageLaneTable);
      return q.update(t).set({ least_epoch: sql`greatest(${t.least_epoch}, ${least_epoch})` });
    });
  }

  /** Changes a lane of this epoch that has an owner. */
  #change(lane: number, epoch: number, change: Change): Promise<boolean> {
    return this.#store.tx(async (q) => {
      const t = q.use(usageLaneTable);
      const changed = await q
        .update(t)
        .set(change)
        .where(and(eq(t.lane, lane), eq(t.epoch, epoch), isNotNull(t.owner_id)))
        .returning({ lane: t.lane });
      return changed.length > 0;
    });
  }
}

function isOwned(q: Reads | Queries): SQL | undefined {
  const t = q.use(usageLaneTable);
  return and(isNotNull(t.owner_id), sql`${t.expires_at} > ${NOW}`);
}

/** Whether a holder may take a lane at once: for a while after it became free it is there for whoever wanted it alone. */
function isFreeFor(q: Reads | Queries, id: string): SQL | undefined {
  const t = q.use(usageLaneTable);
  return and(
    or(isNull(t.owner_id), eq(t.owner_id, id)),
    or(
      isNull(t.wanted_by),
      eq(t.wanted_by, id),
      sql`${t.expires_at} <= ${NOW} - ${WANTED_MS} * interval '1 millisecond'`,
    ),
  );
}
