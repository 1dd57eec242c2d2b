import { beforeAll, expect, test } from "bun:test";
import { PASSWORD, useService } from "../support/harness.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { expectAccessible, expectNoTrouble } from "../support/console/walk.ts";
import { runNamedJob } from "../support/jobs.ts";
import { addSubscription, ms, search, send } from "../usage/fixtures.ts";

const service = useService();
const browser = useBrowser(service);
let company: string;

beforeAll(async () => {
  await addSubscription(service, "acme");
  const events = ["ada", "ada", "bob"].map((user) => ({
    external_subscription_id: "acme",
    timestamp: ms("2026-03-01T00:00:00Z"),
    usage: 1,
    metadata: { user },
  }));
  expect((await send(service.api, events)).status).toBe(201);
  company = (await service.api("GET", "/company")).body.data.name;
});

describeInBrowser("metadata and erasures", () => {
  test("keys lead to the explorer, values to their events", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/usage/metadata");
    const keys = page.getByRole("table", { name: "Metadata keys" });
    await keys.getByText("Of 3 events").waitFor();
    await keys.getByRole("link", { name: "ada" }).click();
    await page.getByText("of 2 events").waitFor();
    expectNoTrouble(troubles);
  });

  test("metadata is erased once the company's name is typed, and what it is of was shown", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/usage/erasures");
    await page.getByRole("button", { name: "Erase metadata" }).click();
    await page.getByLabel("Metadata key").fill("user");
    await page.getByLabel("Its value").fill("ada");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Show what would be erased" }).click();
    const act = page.getByRole("button", { name: "Erase metadata of 2 events" });
    await act.waitFor();
    expect(await act.isDisabled()).toBe(true);
    await page.getByLabel(`Type ${company} to go on`).fill(company);
    await act.click();
    await page.getByText("a value of user").waitFor();
    await runNamedJob(service, "usage_erasures");
    const { data } = await search(service.api, { external_subscription_ids: ["acme"] });
    expect(data.map(({ metadata }: { metadata: object }) => JSON.stringify(metadata)).toSorted()).toEqual([
      '{"erased":true}',
      '{"erased":true}',
      '{"user":"bob"}',
    ]);
    expectNoTrouble(troubles);
  });

  test("a person is erased once the email is typed; what is in the way is said", async () => {
    const email = "ada@example.com";
    const user = { email, password: PASSWORD, role: "analyst" };
    expect((await service.api("POST", "/users", user)).status).toBe(201);
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/settings/erasures");
    await page.getByRole("button", { name: "Erase a person" }).click();
    const field = page.getByRole("textbox", { name: "Email" });
    await field.fill(service.admin_email);
    await page.getByRole("button", { name: "Show what would be erased" }).click();
    await page.getByRole("table", { name: "What would be erased" }).getByText("user #").waitFor();
    expect(await page.getByRole("button", { name: /^Erase 1/ }).count()).toBe(0);
    await field.fill(email);
    await page.getByRole("button", { name: "Show what would be erased" }).click();
    await page.getByLabel(`Type ${email} to go on`).fill(email);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Erase 1 record of a person" }).click();
    await page.getByRole("table", { name: "Erasures" }).getByText("user #").waitFor();
    const users = (await service.api("GET", "/users")).body.data;
    expect(JSON.stringify(users)).not.toContain(email);
    expectNoTrouble(troubles);
  });
});
