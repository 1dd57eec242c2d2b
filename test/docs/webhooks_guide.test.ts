import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { addWebhook, until } from "../support/webhook_receiver.ts";
import { startService } from "../support/harness.ts";

const ROOT = join(import.meta.dir, "../..");

test("the receiver in docs/webhooks.md works as it is printed", async () => {
  const service = await startService({ env: { NODE_ENV: "development" } });
  const probe = Bun.serve({ port: 0, fetch: () => new Response() });
  const { port } = probe;
  await probe.stop(true);
  const { id, secret } = await addWebhook(service.api, `http://localhost:${port}/hooks`, ["*"]);
  const page = readFileSync(join(ROOT, "docs/webhooks.md"), "utf8");
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  const receiver = Bun.spawn(["bun", "-e", code.replace("port: 4000", `port: ${port}`)], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? "", WEBHOOK_SECRET: secret },
    stdout: "pipe",
    stderr: "inherit",
  });
  let printed = "";
  void receiver.stdout.pipeTo(
    new WritableStream({
      write(piece) {
        printed += new TextDecoder().decode(piece);
      },
    }),
  );
  try {
    const call = (body: string) => fetch(`http://localhost:${port}/hooks`, { method: "POST", body });
    await until(async () => {
      const refused = await call("{}").catch(() => undefined);
      return refused?.status === 400;
    }, "the receiver");
    await service.api("POST", "/clients", { name: "Acme" });
    expect((await service.api("POST", `/webhooks/${id}/test`, {})).status).toBe(202);
    await until(
      () => printed.includes("client.created") && printed.includes("webhook.test"),
      "both messages",
    );
  } finally {
    receiver.kill();
    await service.stop();
  }
});
