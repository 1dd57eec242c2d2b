import { expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { describeInBrowser } from "../support/console/browser.ts";
import { CLIENTS, useKit } from "../support/console/kit.ts";
import { expectAccessible, expectNoOverflow, settle } from "../support/console/walk.ts";
import { useService } from "../support/harness.ts";

// The parts that all pages are made of, in a browser, over the service. Forms and dialogs are in forms.test.ts.

const service = useService({ timezone: "America/New_York", currency: "MYR" });
const { open, inKit } = useKit(service);

const rowNames = (page: Page) =>
  page.getByRole("table", { name: "Clients" }).locator("tbody td:first-child").allTextContents();

describeInBrowser("the kit", () => {
  test("is accessible, in the dark too, and fits into 320 px", async () => {
    await inKit(async (page) => {
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "dark" });
      await expectAccessible(page);
      await page.setViewportSize({ width: 320, height: 800 });
      await expectNoOverflow(page);
      await expectAccessible(page);
    });
  });
});

describeInBrowser("texts", () => {
  const TEXTS: Record<string, Record<string, string>> = {
    "en-GB": {
      money: "MYR 1,234.50",
      "money without decimals": "JPY 1,234",
      "money beyond floats": "USD 900,719,925,474,099,312,345.67",
      "money below zero": "-EUR 0.05 true",
      "unit price": "MYR 0.00025",
      "whole unit price": "MYR 3.00",
      number: "1,234,567.123456789012",
      "short number": "1.2m",
      "small number": "9,999",
      count: "0 events, 1 event, 1,204 events",
      time: "1 Nov 2026, 00:30",
      utc: "1 Nov 2026, 04:30:00 UTC",
      date: "1 Nov 2026",
      clock: "00:30:05",
      month: "Oct 2026",
      period: "1 – 30 Nov 2026",
      "period of an instant": "1 Nov 2026",
      ago: "2 hours ago, 40 seconds ago, tomorrow",
    },
    "de-DE": {
      money: "1.234,50 MYR",
      "money beyond floats": "900.719.925.474.099.312.345,67 USD",
      "unit price": "0,00025 MYR",
      time: "01.11.2026, 00:30",
      period: "01.–30.11.2026",
    },
    "ja-JP": { money: "MYR 1,234.50", time: "2026/11/01 0:30", period: "2026/11/01～2026/11/30" },
  };
  test.each(Object.entries(TEXTS))("of %s, in the company's zone", async (locale, texts) => {
    // The browser is elsewhere.
    const { page } = await open("", { locale, timezone: "Pacific/Auckland" });
    for (const [name, text] of Object.entries(texts)) {
      const shown = await page.locator(`[data-text="${name}"]`).textContent();
      expect([name, shown?.replaceAll(/\s/g, " ").replaceAll(" ", " ")]).toEqual([name, text]);
    }
    await page.close();
  });
});

describeInBrowser("lists", () => {
  test("are sorted, filtered and paged by the service, as the address says", async () => {
    await inKit(async (page) => {
      expect(await rowNames(page)).toEqual(CLIENTS.slice(0, 5));
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("6–7 of 7").waitFor();
      expect(await rowNames(page)).toEqual(CLIENTS.slice(5));
      await page.getByRole("button", { name: "Name", exact: true }).click();
      await page.getByRole("button", { name: "Name", exact: true }).click();
      await page.locator('th[aria-sort="descending"]').waitFor();
      await settle(page);
      expect(await rowNames(page)).toEqual(CLIENTS.slice(2).toReversed());
      expect(page.url()).toEndWith("/console/kit?sort=-name");
      await page.goBack();
      await page.goBack();
      await page.getByText("6–7 of 7").waitFor();
      await page.getByLabel("Name", { exact: true }).fill("oo");
      await page.getByText("1 in all").waitFor();
      expect(await rowNames(page)).toEqual(["Hooli"]);
      expect(page.url()).toEndWith("/console/kit?search=oo");
      await page.getByLabel("Name", { exact: true }).fill("nobody");
      await page.getByText("None match").waitFor();
      await page.getByRole("button", { name: "Clear filters" }).last().click();
      await page.getByText("1–5 of 7").waitFor();
    });
  });

  test("keep what they show while the next page is on its way", async () => {
    await inKit(async (page) => {
      const asked = Promise.withResolvers<void>();
      await page.route(/\/clients\?.*page=2/, async (route) => {
        await asked.promise;
        await route.continue();
      });
      await page.getByRole("button", { name: "Next" }).click();
      await page.locator("[aria-busy=true]").waitFor();
      expect(await rowNames(page)).toEqual(CLIENTS.slice(0, 5));
      asked.resolve();
      await page.getByText("6–7 of 7").waitFor();
    });
  });

  test("come as CSV with what they are filtered by", async () => {
    await inKit(async (page) => {
      const saving = page.waitForEvent("download");
      await page.getByRole("button", { name: "CSV" }).click();
      const saved = await saving;
      expect(saved.suggestedFilename()).toBe("clients.csv");
      const text = await Bun.file(await saved.path()).text();
      expect(text.trim().split("\n")).toHaveLength(2);
      expect(text).toContain("Hooli");
    }, "?search=oo");
  });

  test("say why they failed, and count down until they may be asked again", async () => {
    await inKit(async (page) => {
      let is_busy = true;
      await page.route(/\/clients\?/, (route) =>
        is_busy
          ? route.fulfill({
              status: 503,
              headers: { "retry-after": "2", "x-request-id": "request-7" },
              json: { error: "Too many requests at once" },
            })
          : route.continue(),
      );
      await page.getByRole("button", { name: "Next" }).click();
      const alert = page.getByRole("alert");
      await alert.getByText("Too many requests at once.").waitFor();
      await alert.getByText("request-7").waitFor();
      expect(await alert.getByRole("button").isDisabled()).toBe(true);
      await alert.getByRole("button", { name: "Try again in" }).waitFor();
      is_busy = false;
      await alert.getByRole("button", { name: "Try again", exact: true }).click();
      await page.getByText("6–7 of 7").waitFor();
    });
  });

  test("have menus that keys lead through", async () => {
    await inKit(async (page) => {
      const button = page.getByRole("button", { name: "Acts for Globex" });
      await button.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("menuitem", { name: "Wave" }).and(page.locator(":focus")).waitFor();
      await page.keyboard.press("ArrowUp");
      await page.getByRole("menuitem", { name: "Link" }).and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("menuitem").first().waitFor({ state: "detached" });
      await button.and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("menuitem", { name: "Wave" }).and(page.locator(":focus")).waitFor();
      await page.keyboard.press("End");
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.locator(".toast.bad").getByText("Globex fell").waitFor();
      await page.locator(".toast").getByRole("button", { name: "Close" }).click();
      await page.locator(".toast").waitFor({ state: "detached" });
    });
  });
});

describeInBrowser("charts", () => {
  test("are drawn: each kind in its series' colours, hatched where a bucket is not over", async () => {
    await inKit(async (page) => {
      const plots = page.locator(".plot .drawing");
      expect(await plots.count()).toBe(3);
      const [line, bars, stacked] = [plots.nth(0), plots.nth(1), plots.nth(2)];
      const box = async (of: Locator) => {
        const found = await of.boundingBox();
        if (found === null) throw new Error("It is not drawn");
        return found;
      };
      for (const [plot, kind, drawn] of [
        [line, "line", [1, 1]],
        [bars, "bars", [30]],
        [stacked, "bars", [30, 30, 30]],
      ] as const) {
        const paths = await plot.locator(`path.${kind}`).all();
        const parts = await Promise.all(
          paths.map(async (path) => (await path.getAttribute("d"))?.split("M").length),
        );
        expect([kind, parts.map((count = 0) => count - 1)]).toEqual([kind, [...drawn]]);
      }
      expect(await bars.locator("path.line.ghost").count()).toBe(1);
      const fills = await page.evaluate<string[]>(
        `[...document.querySelectorAll(".plot:has(.bars ~ .bars) .bars")].map((path) => getComputedStyle(path).fill)`,
      );
      expect(new Set(fills).size).toBe(3);
      // What stands on another begins where that ends.
      const heights = await Promise.all((await stacked.locator("path.bars").all()).map(box));
      const tops = heights.map(({ y }) => y);
      expect(tops).toEqual(tops.toSorted((a, b) => b - a));
      const slot = (await box(stacked.locator("path.bars").first())).width / 30;
      const hatched = await box(stacked.locator("rect.hatched"));
      expect(Math.abs(hatched.width / slot - 1)).toBeLessThan(0.1);
      const unread = await box(bars.locator("rect.unread"));
      expect(Math.abs(unread.width / slot - 4)).toBeLessThan(0.4);
    });
  });

  test("say their buckets by arrow keys, and have a table", async () => {
    await inKit(async (page) => {
      const chart = page.locator(".chart").first();
      await chart.locator(".plot-frame").focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      const said = chart.getByRole("status");
      await said.getByText("Day 2", { exact: true }).waitFor();
      expect(await said.textContent()).toContain("Day 2This month: 2,697 units");
      await page.keyboard.press("End");
      await said.getByText("Day 30 (not whole)").waitFor();
      await page.keyboard.press("ArrowLeft");
      await said.getByText("Day 29", { exact: true }).waitFor();
      await chart.getByText("As a table").click();
      await chart.getByRole("row").nth(30).waitFor();
      expect(await chart.getByRole("row").count()).toBe(31);
      expect(await chart.getByRole("row").nth(2).textContent()).toBe("Day 22,697 units2,199 units");
    });
  });

  test("zoom by a drag", async () => {
    await inKit(async (page) => {
      const bars = page.locator(".plot .line").first();
      await bars.scrollIntoViewIfNeeded();
      const points = await bars.boundingBox();
      if (points === null) throw new Error("The chart is not there");
      // From the middle of the first bucket to the last one's.
      const slot = points.width / 29;
      const box = { x: points.x - slot / 2, y: points.y, width: slot * 30 };
      const x = (share: number) => box.x + box.width * share;
      await page.mouse.move(x(9.5 / 30), box.y + 40);
      await page.mouse.down();
      await page.mouse.move(x(15.5 / 30), box.y + 60, { steps: 4 });
      await page.mouse.move(x(19.5 / 30), box.y + 60, { steps: 4 });
      await page.mouse.up();
      await page.getByText("Day 10 to Day 20").waitFor();
    });
  });
});

describeInBrowser("rankings", () => {
  test("compare what is in one currency, and have the width of a phone", async () => {
    await inKit(async (page) => {
      const table = page.getByRole("table", { name: "Top clients" });
      const widths = async () => {
        const bars = await table.locator(".bar").all();
        const boxes = await Promise.all(bars.map((bar) => bar.boundingBox()));
        return boxes.map((box) => box?.width ?? 0);
      };
      const [acme = 0, globex = 0, initech = 0, umbrella = 0] = await widths();
      expect(globex / acme).toBeCloseTo(0.5, 1);
      expect(initech / acme).toBeCloseTo(0.1, 1);
      expect(umbrella).toBeCloseTo(acme, 0);
      await page.setViewportSize({ width: 390, height: 844 });
      const [longest = 0] = await widths();
      expect(longest).toBeCloseTo((await table.boundingBox())?.width ?? 0, 0);
    });
  });
});

describeInBrowser("what takes long, and what goes wrong", () => {
  test("work that goes on is in the header until it is over", async () => {
    await inKit(async (page) => {
      await page.getByRole("button", { name: "Work" }).click();
      await page.getByRole("link", { name: "Billing run 1 of 3" }).waitFor();
      await page.getByRole("link", { name: "Billing run 2 of 3" }).waitFor();
      await page.getByRole("link", { name: "Billing run" }).waitFor({ state: "detached" });
    });
  });
});
