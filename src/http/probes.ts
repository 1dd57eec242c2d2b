import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import type { Deps } from "../app/deps.ts";
import { ErrorBody } from "./errors.ts";
import type { Readiness } from "./readiness.ts";

const State = Type.Object({ status: Type.Literal("ok") }, { title: "State" });
const Ready = Type.Object(
  {
    status: Type.Literal("ok"),
    details: Type.Optional(
      Type.Array(Type.String(), {
        description: "What waits: writes for room on the disk, jobs for the clock",
      }),
    ),
  },
  { title: "Ready" },
);

/** Liveness and readiness probes. */
export const probes = (deps: Deps, readiness: Readiness) =>
  new Elysia({ name: "probes", tags: ["Operations"] })
    .get("/health", () => ({ status: "ok" as const }), {
      response: { 200: State },
      detail: { summary: "Check liveness", security: [] },
    })
    .get(
      "/ready",
      async ({ status }) => {
        const problem = await readiness.problem();
        if (problem !== null) return status(503, { error: problem });
        return { status: "ok" as const, ...detailsOf(deps) };
      },
      {
        response: { 200: Ready, 503: ErrorBody },
        detail: { summary: "Check readiness", security: [] },
      },
    );

/** Reading goes on while something waits: who asks for reads must not be sent away. */
function detailsOf({ guards: { problems } }: Deps): { details?: string[] } {
  return problems.length > 0 ? { details: problems } : {};
}
