import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { destination, open, send } from "../access/oauth/fixtures.ts";
import { PASSWORD, startService } from "../support/harness.ts";

const ROOT = join(import.meta.dir, "../..");

test("the script in docs/mcp.md works as it is written", async () => {
  const service = await startService();
  const taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = taken;
  await taken.stop(true);
  const [, written = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, "docs/mcp.md"), "utf8")) ?? [];
  expect(written).toContain("33418");
  const code = written.replaceAll("33418", String(port)).replace("https://billing.example.com", service.url);
  expect((await service.api("POST", "/clients", { name: "Acme" })).status).toBe(201);
  const script = Bun.spawn(["bun", "-e", code], { cwd: ROOT, stdout: "pipe", stderr: "pipe" });
  try {
    let printed = "";
    const decoder = new TextDecoder();
    for await (const piece of script.stdout) {
      printed += decoder.decode(piece, { stream: true });
      const [, url] = /Open (\S+)\n/.exec(printed) ?? [];
      if (url === undefined || printed.includes("(allowed)")) continue;
      printed += "(allowed)";
      const typed = { email: service.admin_email, password: PASSWORD, decision: "allow" };
      const callback = destination(await send(service, await open(url), typed));
      expect(await (await fetch(callback)).text()).toContain("Done");
    }
    expect([await script.exited, await script.stderr.text()]).toEqual([0, ""]);
    expect(printed).toContain("Acme");
  } finally {
    script.kill();
    await service.stop();
  }
});
