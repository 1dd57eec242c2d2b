import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type CommandFolder, makePreparedFolder, run, runHere } from "../support/process.ts";

// Where settings come from: the environment, a file of --config, and files of secrets.

let place: CommandFolder;
beforeAll(async () => {
  place = await makePreparedFolder();
});
afterAll(() => place.remove());

async function write(name: string, content: string): Promise<string> {
  const path = join(place.data_dir, name);
  await Bun.write(path, content);
  return path;
}

const print = (file: string, env: Record<string, string> = {}) =>
  runHere(["doctor", "--print-config", "--config", file], { ...place.env, ...env });

/** The columns of a setting's line. */
const lineOf = (out: string, name: string) =>
  out
    .split("\n")
    .find((line) => line.startsWith(`${name} `))
    ?.split(/ {2,}/);

describe("--config", () => {
  test("gives what the environment does not, and is printed with where each value comes from", async () => {
    const secret = await write("token", "a-metrics-token-in-a-file-of-its-own\n");
    const file = await write(
      "good.toml",
      `# a comment\nport = 4711\nlog_level = "error"\nrate_limit_enabled = false\nmetrics_token_file = "${secret}"\n`,
    );
    const { code, out } = await print(file, {
      OPERATOR_TOKEN: "o".repeat(40),
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://me:otlp-password@traces.example",
    });
    expect(code).toBe(0);
    expect(out).toContain("https://********@traces.example");
    expect(lineOf(out, "PORT")).toEqual(["PORT", "0", "environment"]);
    expect(lineOf(out, "RATE_LIMIT_ENABLED")).toEqual(["RATE_LIMIT_ENABLED", "false", file]);
    expect(lineOf(out, "METRICS_TOKEN")).toEqual(["METRICS_TOKEN", "********", secret]);
    expect(lineOf(out, "OPERATOR_TOKEN")).toEqual(["OPERATOR_TOKEN", "********", "environment"]);
    expect(lineOf(out, "COMPANY_NAME")).toEqual(["COMPANY_NAME", "My company", "default"]);
    for (const hidden of ["in-a-file-of-its-own", "oooo", "otlp-password", place.env.ADMIN_PASSWORD ?? "?"])
      expect(out).not.toContain(hidden);
  });

  test("is read by every command, and the server", async () => {
    const file = await write("place.toml", `data_dir = "${place.data_dir}"\nmetrics_port = "x"\n`);
    const { DATA_DIR, ...env } = place.env;
    const served = await run(["serve", "--config", file], env);
    expect([served.code, served.err]).toEqual([78, expect.stringContaining("METRICS_PORT must be")]);
    await write("place.toml", `data_dir = "${DATA_DIR}"\n`);
    expect(await run(["company", "list", "--config", file], env)).toMatchObject({
      code: 0,
      out: expect.stringContaining("My company"),
    });
  });

  test.each([
    ["prot = 1", "has the unknown key prot (did you mean port?)"],
    ["PORT = 1", "has the unknown key PORT (did you mean port?)"],
    ["jwt_secret_fil = 'x'", "unknown key jwt_secret_fil (did you mean jwt_secret_file?)"],
    ["port_file = '/x'", "unknown key port_file"],
    ["something_else_altogether = 1", "unknown key something_else_altogether;"],
    ["[port]\na = 1", "port in "],
    ["port = ", "can't be read"],
    ["__proto__ = 'x'", "has the unknown key __proto__"],
    ["metrics_token_file = '/nowhere/at/all'", "METRICS_TOKEN_FILE /nowhere/at/all can't be read: ENOENT"],
    [
      "metrics_token_file = '/x'\nmetrics_token = 'y'",
      "metrics_token and metrics_token_file must not both be set",
    ],
    ["rate_limit_login = -1", "RATE_LIMIT_LOGIN must be a whole number"],
  ])("stops the start with exit 78 and one line: %j", async (content, message) => {
    const file = await write("bad.toml", `${content}\n`);
    const { code, err } = await runHere(["serve", "--config", file], { ...place.env, METRICS_PORT: "x" });
    expect([code, err.trim().split("\n").length]).toEqual([78, 1]);
    expect(err).toContain(message);
    expect(err).toContain("METRICS_PORT must be");
  });

  test("names no value that is not quoted: it may be a secret", async () => {
    const file = await write("bad.toml", "jwt_secret = tell-nobody-what-this-is\n");
    const { code, err } = await print(file);
    expect([code, err]).toEqual([78, expect.stringContaining("Strings must be quoted")]);
    expect(err).not.toContain("tell");
  });

  test("that is not there stops the start; --print-config prints all the same", async () => {
    const { code, out, err } = await print("/nowhere/meterhouse.toml");
    expect(code).toBe(78);
    expect(err).toContain("/nowhere/meterhouse.toml can't be read: ENOENT");
    expect(lineOf(out, "COMPANY_NAME")).toEqual(["COMPANY_NAME", "My company", "default"]);
  });
});

describe("secrets in files", () => {
  test("are read without the end of line, and not beside the value itself", async () => {
    const path = await write("operator", `${"s".repeat(31)}\r\n`);
    const short = await runHere(["serve"], { ...place.env, OPERATOR_TOKEN_FILE: path });
    expect([short.code, short.err]).toEqual([
      78,
      expect.stringContaining("OPERATOR_TOKEN must be at least 32"),
    ]);
    const both = await runHere(["serve"], {
      ...place.env,
      OPERATOR_TOKEN_FILE: path,
      OPERATOR_TOKEN: "s".repeat(32),
    });
    expect(both.err).toContain("OPERATOR_TOKEN and OPERATOR_TOKEN_FILE must not both be set");
  });

  test("a prefix that no setting has is named with the setting that is meant", async () => {
    const { code, err } = await runHere(["serve"], { ...place.env, METERHOUSE_DATA_DIR: "/x" });
    expect([code, err]).toEqual([78, expect.stringContaining("did you mean DATA_DIR?")]);
  });
});
