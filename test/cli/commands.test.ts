import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeKey } from "../support/certificates.ts";
import { openDatabase } from "../../src/usage_store/duckdb/engine/database.ts";
import { type CommandFolder, makePreparedFolder, run, runHere, startServer } from "../support/process.ts";

const ENGINE = { threads: 2, memory_limit: "500MB" };

let place: CommandFolder;

beforeAll(async () => {
  place = await makePreparedFolder();
});
afterAll(() => place.remove());

describe("the command line", () => {
  test("--help lists the commands, and each has a help of its own", async () => {
    const { code, out } = await runHere(["--help"], place.env);
    expect(code).toBe(0);
    const names = [...out.matchAll(/^ {2}(\w+) {2}/gm)].map(([, name]) => name ?? "");
    expect(names).toEqual(
      expect.arrayContaining(["serve", "migrate", "company", "user", "job", "openapi", "doctor"]),
    );
    for (const name of names) {
      const help = await runHere([name, "--help"], place.env);
      expect(help).toMatchObject({
        code: 0,
        err: "",
        out: expect.stringMatching(new RegExp(`(src/main.ts|meterhouse) ${name}`)),
      });
    }
  });

  test.each([
    [["sevre"], "No such command: sevre (did you mean serve?)"],
    [["company"], "Say `company add` or `company list`"],
    [["company", "add"], "--name is required"],
    [["user", "add"], "--company is required"],
    [["user", "list", "--company", "x"], "--company must be a positive whole number"],
    [["job", "nothing"], "No such job: nothing"],
    [["serve", "--port", "1"], "Unknown option '--port'"],
    [["serve", "extra"], "Unexpected word: extra; see serve --help"],
    [["company", "list", "extra"], "Unexpected word: extra; see company --help"],
  ])("fails with exit 2 and one clear line: %j", async (words, message) => {
    const { code, err } = await runHere(words, place.env);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(err.trim().split("\n")).toHaveLength(1);
  });

  test("companies and users are added beside a running server, and may sign in", async () => {
    const server = await startServer(place.env);
    const added = await runHere(
      [
        "company",
        "add",
        "--name",
        "Second",
        "--admin-email",
        "second@example.com",
        "--timezone",
        "Asia/Kathmandu",
      ],
      place.env,
    );
    expect(added.code).toBe(0);
    const password = /password (\S+)/.exec(added.out)?.[1] ?? "";
    const api = await server.signIn("second@example.com", password);
    const company = (await api("GET", "/company")).body.data;
    expect(company).toMatchObject({ name: "Second", timezone: "Asia/Kathmandu", currency: "USD" });

    const client = (await api("POST", "/clients", { name: "c" })).body.data;
    const words = [
      "user",
      "add",
      "--company",
      String(company.id),
      "--email",
      "c@example.com",
      "--role",
      "client",
    ];
    const password2 = "a password for the client";
    expect((await runHere([...words, "--password", password2], place.env)).code).toBe(1);
    const user = await runHere(
      [...words, "--password", password2, "--client-id", String(client.id)],
      place.env,
    );
    expect(user).toMatchObject({ code: 0, out: expect.stringContaining("c@example.com, client") });
    await server.signIn("c@example.com", password2);
    expect(
      (await runHere([...words, "--password", password2, "--client-id", String(client.id)], place.env)).err,
    ).toContain("already used");

    expect((await run(["company", "list"], place.env)).out).toContain("Second");
    expect((await runHere(["user", "list", "--company", String(company.id)], place.env)).out).toContain(
      "second@example.com",
    );
    const doctor = await runHere(["doctor"], place.env);
    expect(doctor).toMatchObject({ code: 0, out: expect.stringContaining("usage store: answers") });
    const nobody = await runHere(["user", "list", "--company", "99"], place.env);
    expect(nobody).toMatchObject({ code: 2, err: "--company 99 is no company\n" });
    server.kill("SIGTERM");
    await server.exited;
  });

  test("migrate, doctor and openapi do what they say", async () => {
    expect((await runHere(["migrate"], place.env)).out).toContain("up to date");
    const doctor = await runHere(["doctor"], place.env);
    expect(doctor).toMatchObject({ code: 0, err: "" });
    expect(doctor.out).not.toContain("FAIL");
    expect(doctor.out).toContain("ok    FPX: not set up, e-mandates work in the sandbox");
    expect(doctor.out).toContain("ok    usage store: answers, 0 sums by hour agree with 0 events");
  });

  test("openapi opens no store, and makes no folder", async () => {
    const data_dir = join(place.data_dir, "none");
    const env = { ...place.env, DATA_DIR: data_dir, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
    const { code, out, err } = await runHere(["openapi"], env);
    expect([code, err]).toEqual([0, ""]);
    expect(JSON.parse(out).paths["/api/v1/login"].post.summary).toBe("Sign in");
    expect(existsSync(data_dir)).toBe(false);
  });

  test("doctor reads the key that FPX is spoken with", async () => {
    const FPX_PRIVATE_KEY_FILE = `${place.data_dir}/seller.pem`;
    const FPX_PRIVATE_KEY_SELLERS = "1:EX1/SE1, 3:EX1/SE2";
    const fpx = { FPX_PRIVATE_KEY_FILE, FPX_URL: "https://scheme.example.com" };
    const env = { ...place.env, ...fpx, FPX_PRIVATE_KEY_SELLERS };
    expect((await runHere(["doctor"], { ...place.env, ...fpx })).out).toContain(
      "FAIL  configuration: Cannot start: FPX_PRIVATE_KEY_SELLERS must name who signs with FPX_PRIVATE_KEY_FILE",
    );
    expect((await runHere(["doctor"], env)).out).toContain("FAIL  FPX: ENOENT");
    writeFileSync(FPX_PRIVATE_KEY_FILE, makeKey("rsa 1024"));
    expect((await runHere(["doctor"], env)).out).toContain(
      "FAIL  FPX: FPX_PRIVATE_KEY_FILE must have an RSA key",
    );
    writeFileSync(FPX_PRIVATE_KEY_FILE, makeKey());
    expect((await runHere(["doctor"], env)).out).toContain(
      "ok    FPX: https://scheme.example.com, with a key for SE1 of company 1, SE2 of company 3",
    );
  });

  test("doctor and the nightly check tell when sums of usage are not those of the events; one option mends them", async () => {
    await runHere(["doctor"], place.env);
    const database = await openDatabase(join(place.env.DATA_DIR ?? "", "usage.duckdb"), ENGINE);
    const connection = await database.instance.connect();
    await connection.run("INSERT INTO usage_hour_folds VALUES (1, 5, 2.5, 1, 2.5, 2.5, 1)");
    connection.closeSync();
    database.close();
    const sick = await runHere(["doctor"], place.env);
    expect(sick).toMatchObject({
      code: 1,
      out: expect.stringContaining("FAIL  usage store: 1 of 1 sums by hour"),
    });
    const night = await run(["job", "usage_check"], place.env);
    expect(night.out).toContain("1 of 1 sums by hour are not those of the events");
    const mended = await runHere(["doctor", "--rebuild-sums"], place.env);
    expect(mended).toMatchObject({ code: 0, out: expect.stringContaining("0 sums by hour agree") });
  });
});
