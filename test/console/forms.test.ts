import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeInBrowser } from "../support/console/browser.ts";
import { useKit } from "../support/console/kit.ts";
import { useService } from "../support/harness.ts";

// Forms and dialogs of the kit, over the service, which judges what is sent.

const service = useService({ timezone: "America/New_York", currency: "MYR" });
const { inKit } = useKit(service);

/** What is said of a field, beside its name. */
async function described(page: Page, label: string): Promise<string> {
  const ids = (await page.getByLabel(label).getAttribute("aria-describedby")) ?? "";
  const texts = ids.split(" ").map((id) => page.locator(`[id="${id}"]`).textContent());
  return (await Promise.all(texts)).join(" ");
}

describeInBrowser("forms", () => {
  test("show at each field what the service says of it, in rows too, and go there", async () => {
    await inKit(async (page) => {
      await page.getByRole("button", { name: "Add tier" }).click();
      await page.getByLabel("Up to 2").fill("many");
      await page.getByLabel("Price 2 (MYR)").fill("1");
      await page.getByRole("button", { name: "Create model" }).click();
      await page.getByLabel("Model name").and(page.locator("[aria-invalid=true]")).waitFor();
      await page.getByLabel("Model name").and(page.locator(":focus")).waitFor();
      expect(await described(page, "Model name")).toContain("is required");
      await page.getByLabel("Model name").fill("By tiers");
      await page.getByRole("button", { name: "Create model" }).click();
      await page.getByLabel("Up to 2").and(page.locator("[aria-invalid=true]")).waitFor();
      expect(await page.locator("[aria-invalid=true]").count()).toBe(1);
      await page.getByLabel("Up to 2").and(page.locator(":focus")).waitFor();
      expect(await described(page, "Up to 2")).toContain("must be");
      // A row is taken away, the one after it keeps what was typed.
      await page.getByRole("button", { name: "Remove 1" }).click();
      await page.getByRole("button", { name: "Remove 1" }).waitFor({ state: "detached" });
      expect(await page.getByLabel("Up to 1").inputValue()).toBe("many");
      // The last tier is open: what is left empty is said to be null.
      await page.getByLabel("Up to 1").fill("");
      await page.getByRole("button", { name: "Create model" }).click();
      await page.getByText("1 made").waitFor();
    });
    const { body } = await service.api("GET", "/billing-models?page=1&limit=10");
    expect(body.data[0].usage_tiers).toEqual([expect.objectContaining({ up_to: null, unit_price: "1" })]);
  });

  test("know what is required from the service's schema", async () => {
    await inKit(async (page) => {
      await page.getByLabel("Model name").and(page.locator("[aria-required=true]")).waitFor();
      await page.getByLabel("Price 1 (MYR)").and(page.locator("[aria-required=true]")).waitFor();
      expect(await page.getByLabel("User name").getAttribute("aria-required")).toBeNull();
    });
  });

  test("take away what is emptied", async () => {
    await inKit(async (page) => {
      await page.getByLabel("User name").fill("Ada");
      await page.getByRole("button", { name: "Save name" }).click();
      await page.getByText("Saved as Ada").waitFor();
      await page.getByLabel("User name").fill("");
      await page.getByRole("button", { name: "Save name" }).click();
      await page.getByText("Saved as null").waitFor();
    });
  });

  test("count once when an answer is lost or a button is clicked twice", async () => {
    const keys: string[] = [];
    await inKit(async (page) => {
      let is_lost = true;
      await page.route(/\/billing-models$/, async (route) => {
        keys.push(route.request().headers()["idempotency-key"] ?? "");
        if (!is_lost) return route.continue();
        is_lost = false;
        await route.fetch();
        await route.abort();
      });
      await page.getByLabel("Model name").fill("Once");
      await page.getByLabel("Up to 1").fill("");
      await page.getByRole("button", { name: "Create model" }).dblclick();
      await page.getByText("The service did not answer.").waitFor();
      await page.getByRole("button", { name: "Create model" }).click();
      await page.getByText("1 made").waitFor();
      await page.getByRole("button", { name: "Create model" }).click();
      await page.getByText("2 made").waitFor();
    });
    expect(keys).toHaveLength(3);
    expect(keys[0]).toBe(keys[1] ?? "");
    expect(keys[2]).not.toBe(keys[1] ?? "");
    const { body } = await service.api("GET", "/billing-models?page=1&limit=10&search=Once");
    expect(body.meta.total).toBe(2);
  });

  test("send what was typed as the interface takes it", async () => {
    await inKit(async (page) => {
      await page.getByLabel("Note").fill("two\nlines");
      await page.getByLabel("Whole number").fill("12");
      await page.getByLabel("Amount (MYR)").fill("900719925474099312345.67");
      await page.getByLabel("Day", { exact: true }).fill("2026-11-01");
      await page.getByLabel("Time", { exact: true }).fill("2026-11-01T00:30");
      await page.getByLabel("Days").selectOption("A month");
      await page.getByLabel("On", { exact: true }).check();
      await page.getByText("It would be on.").waitFor();
      await page.getByLabel("Tags").fill("two, three");
      await page.getByLabel("Tags").press("Enter");
      await page.getByRole("button", { name: "Remove one" }).click();
      await page.getByLabel("Bill adjusted").check();
      await page.getByRole("combobox", { name: "Client", exact: true }).fill("glo");
      await page.getByRole("option", { name: "Globex" }).click();
      await page.getByRole("button", { name: "Send all" }).click();
      const sent: unknown = JSON.parse((await page.locator("pre.json").textContent()) ?? "");
      expect(sent).toEqual({
        is_on: true,
        tags: ["two", "three"],
        events: ["bill.created", "bill.adjusted"],
        note: "two\nlines",
        number: 12,
        amount: "900719925474099312345.67",
        day: "2026-11-01",
        time: "2026-11-01T00:30",
        days: 30,
        client_id: 3,
      });
    });
  });
});

describeInBrowser("what is above a page", () => {
  test("a picker in a dialog finds by keys, and its Escape leaves the dialog", async () => {
    const typed = Promise.withResolvers<void>();
    await inKit(async (page) => {
      await page.getByRole("button", { name: "Open dialog" }).click();
      const input = page.getByRole("combobox", { name: "Client of the dialog" });
      await input.pressSequentially("oo");
      await page.getByRole("option", { name: "Hooli" }).waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".options li").waitFor({ state: "detached" });
      expect(await page.getByRole("dialog").count()).toBe(1);
      await page.keyboard.press("ArrowDown");
      await page.getByRole("option", { name: "Brown & Sons" }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      expect(await input.inputValue()).toBe("Brown & Sons");
      // What is typed and entered at once picks nothing of the rows from before.
      await page.route(/\/clients\?/, async (route) => {
        await typed.promise;
        await route.continue();
      });
      await input.fill("wonk");
      await page.keyboard.press("Enter");
      typed.resolve();
      await page.getByRole("option", { name: "Acme" }).waitFor({ state: "detached" });
      expect(await input.inputValue()).toBe("wonk");
      await page.keyboard.press("Enter");
      expect(await input.inputValue()).toBe("Wonka");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });
  });

  test("what is final is done once its name is typed", async () => {
    await inKit(async (page) => {
      await page.getByRole("button", { name: "Open confirm" }).click();
      await page.getByLabel("Type Renamed to go on").and(page.locator(":focus")).waitFor();
      const act = page.getByRole("button", { name: "Rename it" });
      expect(await act.isDisabled()).toBe(true);
      await page.getByLabel("Type Renamed to go on").fill("Renamed");
      await act.click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Open confirm" }).and(page.locator(":focus")).waitFor();
    });
    const { body } = await service.api("GET", "/company");
    expect(body.data.name).toBe("Renamed");
  });

  test("a secret is copied unseen, and stays until it is kept", async () => {
    await inKit(async (page) => {
      await page.getByRole("button", { name: "Open secret" }).click();
      expect(await page.getByRole("dialog").textContent()).not.toContain("mh_sk_");
      await page.getByRole("button", { name: "Copy" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe("mh_sk_0123456789");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByText("mh_sk_0123456789").waitFor();
      await page.getByRole("button", { name: "I have kept it" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });
  });

  test("a record's filter is named after a reload", async () => {
    await inKit(async (page) => {
      expect(await page.getByRole("combobox", { name: "One client" }).inputValue()).toBe("Globex");
      await page.locator("pre.json").getByText('"name": "Globex"').waitFor();
      await service.api("PUT", "/clients/3", { name: "Globex & Co." });
      await page.locator("pre.json").getByText('"name": "Globex & Co."').waitFor();
      await service.api("PUT", "/clients/3", { name: "Globex" });
    }, "?client=3");
  });
});
