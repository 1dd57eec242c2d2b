import { expect, test } from "bun:test";
import { Glob } from "bun";

// Which operations go on while the disk is almost full: decision 0197.

const SIGNS_IN = [
  "accept_user_link",
  "exchange_api_key",
  "exchange_code",
  "login",
  "open_authorization",
  "open_browser_session",
  "refresh_tokens",
];
const AGENTS = ["refuse_authorization", "sign_in_to_authorize"];
/** By their verb these close access or free room. */
const CLOSES = /^(delete|end|free|prune|revoke|stop|sweep)_|^(logout|remove_entitlement|remove_spend_limit)$/;

/** The head of every operation in the sources, up to its input. */
async function* heads(): AsyncGenerator<{ name: string; uses_reserve: boolean }> {
  for await (const path of new Glob("src/**/*.ts").scan(".")) {
    const text = await Bun.file(path).text();
    for (const [, kind, name = "", rest = ""] of text.matchAll(
      /\b(operation|retention)\(\{\n\s+name: "(\w+)",([\s\S]*?)\n\s+(?:input|deletions):/g,
    ))
      yield { name, uses_reserve: kind === "retention" || rest.includes("uses_reserve: true") };
  }
}

test("what signs in, closes access or frees room goes on with a disk that is almost full, and no other write", async () => {
  const all = await Array.fromAsync(heads());
  expect(all.length).toBeGreaterThan(150);
  const expected = all.map(({ name }) => name).filter((name) => CLOSES.test(name));
  const using = all.filter(({ uses_reserve }) => uses_reserve).map(({ name }) => name);
  expect(using.toSorted()).toEqual([...expected, ...SIGNS_IN, ...AGENTS].toSorted());
});
