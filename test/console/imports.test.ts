import { beforeAll, expect, test } from "bun:test";
import { useService } from "../support/harness.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { expectAccessible, expectNoOverflow, expectNoTrouble, settle } from "../support/console/walk.ts";
import { freePort } from "../support/free_port.ts";
import { runAtAll } from "../support/jobs.ts";
import { makePreparedFolder, startServer } from "../support/process.ts";
import { addSubscription, search } from "../usage/fixtures.ts";

const service = useService({ timezone: "Asia/Kuala_Lumpur" });
const browser = useBrowser(service);
/** A service in a process of its own. */
const killed = { url: "" };
const at_killed = useBrowser(killed);

beforeAll(async () => {
  await addSubscription(service, "acme");
});

const FILE = [
  "customer,time,input,output,model",
  "acme,2026-01-05T00:00:00Z,10,2.5,small",
  "acme,2026-01-06T00:00:00Z,1,1,large",
  "nobody,2026-01-06T00:00:00Z,1,1,large",
].join("\n");

describeInBrowser("import of usage", () => {
  test("a file is sent, matched, tried and imported; its rejected rows are a file", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/usage");
    await page.getByRole("link", { name: "Import", exact: true }).click();
    await page
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "january.csv", mimeType: "text/csv", buffer: Buffer.from(FILE) });
    await page.getByRole("button", { name: "Send file" }).click();
    await page.getByRole("heading", { name: "january.csv" }).waitFor();
    const sample = page.getByRole("table", { name: "First rows" });
    await sample.getByText("nobody").waitFor();
    // Names that are usual are found.
    expect(await page.getByLabel("Subscription from").inputValue()).toBe("customer");
    expect(await page.getByLabel("Time from").inputValue()).toBe("time");

    await page.getByLabel("Usage from", { exact: true }).selectOption("input");
    await page.getByRole("button", { name: "Add to it" }).click();
    await page.getByLabel("Plus 2", { exact: true }).selectOption("output");
    await page.getByRole("button", { name: "Multiply 2" }).click();
    await page.getByLabel("Plus 2, times 1: value").fill("4");
    await page.getByRole("button", { name: "Add key" }).click();
    await page.getByLabel("Key 1", { exact: true }).fill("model");
    await page.getByLabel("Value 1 from").selectOption("model");
    await expectAccessible(page);

    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText("dry run running").waitFor();
    // Nothing flickers while the page and the frame around it look how far it is.
    let looks = 0;
    const looking = Promise.withResolvers<void>();
    const looked = Promise.withResolvers<void>();
    await page.route(/\/usage\/imports\/\d+$/, async (route) => {
      if (++looks === 2) looking.resolve();
      await looked.promise;
      await route.continue();
    });
    await looking.promise;
    expect(await page.locator("[aria-busy=true]").count()).toBe(0);
    looked.resolve();
    await runAtAll(service, "usage_uploads");
    await page.getByText("Nothing was stored.").waitFor();
    await page.getByText("dry run finished").waitFor();
    const window = { month: "2026-01", aggregate: true };
    expect((await search(service.api, window)).data[0].event_count).toBe(0);

    // What was matched is still there after a reload.
    await page.reload();
    await settle(page);
    expect(await page.getByLabel("Plus 2, times 1: value").inputValue()).toBe("4");
    await page.setViewportSize({ width: 320, height: 700 });
    await expectNoOverflow(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("running", { exact: true }).waitFor();
    await runAtAll(service, "usage_uploads");
    await page.getByText("finished", { exact: true }).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Rejected rows" }).click(),
    ]);
    const [, rejected] = (await Bun.file(await file.path()).text()).split("\r\n");
    expect(rejected).toStartWith("3,,");
    const found = await search(service.api, { month: "2026-01", sort_order: "asc" });
    expect(found.data).toMatchObject([
      { usage: 20, metadata: { model: "small" } },
      { usage: 5, metadata: { model: "large" } },
    ]);
    expectNoTrouble(troubles);
  });

  test("what a matching gets wrong is said in place, and a file that is none where it is sent", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/usage/imports");
    const choose = (name: string, text: string) =>
      page
        .getByLabel("File", { exact: true })
        .setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
    await choose("usage.ndjson", "no json\n");
    await page.getByRole("button", { name: "Send file" }).click();
    await page.getByRole("alert").getByText("Cannot read the file as NDJSON").waitFor();
    await choose("usage.csv", "who,at,amount\nacme,2026-02-01T00:00:00Z,1\n");
    await page.getByRole("button", { name: "Send file" }).click();
    await page.getByRole("heading", { name: "usage.csv" }).waitFor();
    await page.getByRole("button", { name: "Multiply" }).click();
    await page.getByLabel("Usage from, times 1: value").fill("two");
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("alert").getByText("matching.usage.product.1.constant").waitFor();
    await page.getByRole("link", { name: "Import", exact: true }).first().click();
    await page.getByRole("button", { name: "Acts for usage.csv" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete file" }).click();
    await page.getByRole("link", { name: "usage.csv" }).waitFor({ state: "detached" });
    expectNoTrouble(troubles);
  });

  test("a service that is killed during a run goes on with it, and its pages say so", async () => {
    const place = await makePreparedFolder();
    // The same address again: the pages stay open.
    const env = { ...place.env, PORT: String(await freePort()) };
    const server = await startServer(env);
    const api = await server.signIn();
    await addSubscription({ api }, "acme");
    const rows = Array.from({ length: 100_000 }, (_, i) => `acme,${1_700_000_000_000 + i},1`);
    const { body } = await api(
      "POST",
      "/usage/imports/files?file_name=killed.csv",
      `who,at,amount\n${rows.join("\n")}\n`,
      { "content-type": "text/csv" },
    );
    const matching = {
      subscription: { column: "who" },
      timestamp: { column: "at" },
      usage: { column: "amount" },
    };
    const { id } = body.data;
    await api("POST", `/usage/imports/${id}/run`, { matching });
    killed.url = server.url;
    // It is built once the server listens.
    while ((await fetch(`${server.url}/console`)).status !== 200) await Bun.sleep(50);
    const run = await at_killed.openAs("admin@example.com", `/console/usage/imports/${id}`);
    const list = await at_killed.openAs("admin@example.com", "/console/usage/imports");
    await run.page.getByText("of about 100,001 rows").waitFor();
    await list.page
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "cut.csv", mimeType: "text/csv", buffer: Buffer.from(FILE) });
    server.kill("SIGKILL");
    await server.exited;
    await run.page.getByRole("alert").getByText("The service did not answer").waitFor();
    await list.page.getByRole("button", { name: "Send file" }).click();
    await list.page.getByText("Of a file that was cut off nothing is kept").waitFor();
    const again = await startServer(env);
    await run.page.getByText("finished", { exact: true }).waitFor();
    await run.page.getByRole("alert").waitFor({ state: "detached" });
    await list.page.getByRole("button", { name: "Send file" }).click();
    await list.page.getByRole("heading", { name: "cut.csv" }).waitFor();
    again.kill("SIGTERM");
    await again.exited;
    place.remove();
  });
});
