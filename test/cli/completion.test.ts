import { expect, test } from "bun:test";
import { JOBS } from "../../src/server/jobs.ts";
import { runHere } from "../support/process.ts";

const script = async (shell: string) => (await runHere(["completion", shell], {})).out;
const names = async () =>
  [...(await runHere(["--help"], {})).out.matchAll(/^ {2}([\w-]+) {2}/gm)].map(([, name]) => name ?? "");

/** What bash offers after these words, the last of which is half typed. */
async function offered(...words: string[]): Promise<string[]> {
  const ask = `COMP_WORDS=(meterhouse ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _meterhouse; echo "\${COMPREPLY[@]}"`;
  const child = Bun.spawnSync(["bash", "-euc", `${await script("bash")}\n${ask}`]);
  expect(child.stderr.toString()).toBe("");
  return child.stdout.toString().trim().split(" ");
}

test("bash is offered every command, and the words and options of each", async () => {
  expect(await offered("")).toEqual([...(await names()), "--help", "--version"]);
  expect(await offered("com")).toEqual(["company", "completion"]);
  expect(await offered("company", "a")).toEqual(["add"]);
  expect(await offered("company", "--admin")).toEqual(["--admin-email", "--admin-password"]);
  expect(await offered("job", "")).toEqual(expect.arrayContaining(JOBS.map(({ name }) => name)));
  expect(await offered("doctor", "--s")).toEqual(["--server"]);
});

test.skipIf(Bun.which("zsh") === null)("zsh reads its script", async () => {
  const child = Bun.spawnSync(["zsh", "-nc", await script("zsh")]);
  expect([child.exitCode, child.stderr.toString()]).toEqual([0, ""]);
});

test("zsh and fish are offered the same commands, with what they do", async () => {
  const [zsh, fish] = [await script("zsh"), await script("fish")];
  for (const name of await names()) {
    expect(zsh).toContain(`'${name}:`);
    expect(fish).toContain(`-n __fish_use_subcommand -a ${name} -d '`);
  }
  expect(fish).toContain("complete -c meterhouse -n '__fish_seen_subcommand_from company' -l admin-email");
});

test("another shell is refused with those that are known", async () => {
  expect(await runHere(["completion", "tcsh"], {})).toMatchObject({
    code: 2,
    err: "Say which shell: bash, zsh, fish\n",
  });
});
