import { beforeAll, expect, test } from "bun:test";
import { type Json, useService } from "../support/harness.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { seedCompany } from "../support/console/seed.ts";
import { expectNoTrouble } from "../support/console/walk.ts";

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);

beforeAll(async () => {
  await seedCompany(service, service);
});

describeInBrowser("a bill's line", () => {
  test("leads to the events that it counts, by the values that its price is of, and each of them back", async () => {
    const { data: bills } = (await service.api("GET", "/billing-records")).body;
    const details = await Promise.all(
      bills.map(async ({ id }: Json) => (await service.api("GET", `/billing-records/${id}`)).body.data),
    );
    const found = details.flatMap(({ id, lines }: Json) =>
      lines.flatMap((line: Json) => (line.match && line.event_count > 0 ? [{ id, line, lines }] : [])),
    )[0];
    const { id, line, lines } = found;
    const all = lines.find(({ kind }: Json) => kind === "usage");
    // Else the line would count all events of its stretch.
    expect(line.event_count).toBeLessThan(all.event_count);
    const { page, troubles } = await browser.openAs(service.admin_email, `/console/bills/${id}`);
    const row = page.getByRole("row").filter({ hasText: `model ${line.match.model}` });
    await row.getByRole("link", { name: `${line.event_count} events` }).click();
    await page.getByText(`of ${line.event_count} events`).waitFor();
    await page.getByRole("table", { name: "Events" }).getByRole("button").first().click();
    const sheet = page.getByRole("dialog", { name: "Usage event" });
    const on_bills = sheet.getByRole("listitem").filter({ hasText: line.description });
    await on_bills.getByRole("link", { name: `Bill #${id}` }).click();
    await page.getByRole("heading", { level: 1, name: `Bill #${id}` }).waitFor();
    expectNoTrouble(troubles);
  });
});
