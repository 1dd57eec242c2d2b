import { expect, test } from "bun:test";
import { makePreparedFolder, runHere, serveHere } from "../support/process.ts";

const IS_POSTGRES = process.env.TEST_STORE === "postgres";

test("clock shows what the time is compared with; accepted beside a running server, or where none runs", async () => {
  const place = await makePreparedFolder();
  const shown = await runHere(["clock"], place.env);
  expect([shown.code, shown.out]).toEqual([
    0,
    expect.stringMatching(
      IS_POSTGRES ? / s (behind|ahead of) PostgreSQL's/ : /the newest record is of 20\d\d-/,
    ),
  ]);
  const accept = () => runHere(["clock", "accept"], place.env);
  if (IS_POSTGRES) expect((await accept()).err).toContain("Nothing to accept");
  else {
    await serveHere(place.env, async () => expect((await accept()).out).toStartWith("Accepted 20"));
    expect((await accept()).code).toBe(0);
  }
  expect((await runHere(["clock", "set"], place.env)).err).toContain("known is accept");
  place.remove();
});
