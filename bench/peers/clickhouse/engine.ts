import type { Json } from "@duckdb/node-api";
import { type Static, Type } from "@sinclair/typebox";
import { Session } from "chdb";
import { shaped } from "../../shape.ts";
import { type Measured, timeEach } from "../../stats.ts";

/** Statements to run; with bounds they are run again and again, and measured. */
const Order = Type.Object({
  statements: Type.Array(Type.String()),
  bounds: Type.Optional(Type.Object({ times: Type.Number(), seconds: Type.Number() })),
});
export type Order = Static<typeof Order>;

/** What comes back for each order. */
export type Delivery = { results: Json[][][] } | { measured: Measured } | { error: string };

/**
 * ClickHouse's engine in a process of its own, which it wants for itself: it takes signals and memory in its
 * own way. Orders come and deliveries go through the process's channel.
 */
export function serveClickHouse(folder: string): void {
  const session = new Session(folder);
  const run = (statements: readonly string[]) =>
    statements.map((statement) => rowsOf(session.query(statement, "JSONCompactEachRow")));
  const deliver = async ({ statements, bounds }: Order): Promise<Delivery> => {
    if (bounds === undefined) return { results: run(statements) };
    return { measured: await timeEach(bounds, async () => run(statements)) };
  };
  process.on("disconnect", () => process.exit());
  process.on("message", (message) => {
    void deliver(shaped(Order, message, "an order"))
      .catch((error: unknown) => ({ error: String(error) }))
      .then((delivery) => process.send?.(delivery));
  });
  process.send?.({ results: run(["SELECT version()"]) } satisfies Delivery);
}

function rowsOf(printed: string): Json[][] {
  return printed
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Json[]);
}
