import { expect } from "bun:test";
import { apiOf } from "../../support/harness.ts";
import type { CommandFolder, Served } from "../../support/process.ts";
import { type Borrowing, openBorrowing, upload } from "./fixtures.ts";

/** A lender and an agent at a server of its own process. */
export async function openServer({ url, signIn }: Served): Promise<Borrowing> {
  const api = await signIn();
  return openBorrowing({
    url,
    anonymous: apiOf(url, {}),
    api,
    company_id: 1,
    admin_email: "admin@example.com",
  });
}

/** Uploads to a server that hangs between the content and its row, and kills it there. */
export async function killBetween(
  place: Pick<CommandFolder, "env">,
  loans: Borrowing,
  id: number,
  bytes: string,
): Promise<void> {
  const child = Bun.spawn(["bun", "test/loans/documents/hanging_server.ts"], {
    env: place.env,
    stdout: "pipe",
    stderr: "inherit",
  });
  let printed = "";
  let answer: Promise<string> | undefined;
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += piece;
    const url = /listens on (\S+)/.exec(printed)?.[1];
    if (url !== undefined && answer === undefined) {
      const { clientId, clientSecret } = loans.agent_key;
      const { body } = await apiOf(url, {})("POST", "/auth/token", { clientId, clientSecret });
      answer = upload({ url }, body.token, id, { bytes }).then(
        () => "answered",
        () => "cut off",
      );
    }
    if (printed.includes("hangs")) child.kill("SIGKILL");
  }
  expect(await answer).toBe("cut off");
  await child.exited;
}
