import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { describeInBrowser, type Opened, useBrowser } from "../support/console/browser.ts";
import { expectAccessible, expectNoTrouble } from "../support/console/walk.ts";
import { copyOfSmallDemo, type ServedDemo, serveDemo } from "../support/demo.ts";
import { TestClock } from "../support/harness.ts";
import { MADE_AT, makeTestDemo } from "../support/small_demo.ts";
import { WHOLE } from "../../src/demo/cast/size.ts";

/** Where the pictures of docs/console.md are written, when they are wanted. */
const PICTURES = process.env.SCREENSHOTS;

describeInBrowser("the demo", () => {
  let demo: ServedDemo;
  const browser = useBrowser({
    get url() {
      return demo.url;
    },
  });

  beforeAll(async () => {
    // The pictures are of the whole demo.
    const folder =
      PICTURES === undefined ? await copyOfSmallDemo() : (await makeTestDemo(undefined, WHOLE)).folder;
    demo = await serveDemo(folder, new TestClock(MADE_AT.toString()));
  });
  afterAll(() => demo.stop());

  /** Signs in by a button, and gives the page. */
  async function become(who: RegExp): Promise<Opened> {
    const opened = await browser.open("/console");
    await opened.page.getByRole("button", { name: who }).click();
    await opened.page.getByText("All of it is made up").waitFor();
    await opened.page.locator("main h1").waitFor();
    return opened;
  }

  test.each([
    [/^Admin/, "Clients"],
    [/^Billing manager/, "Bills"],
    [/^Analyst/, "Usage"],
    [/^Loan officer/, "Applications"],
    [/^A client's user/, "Bills"],
  ] as [RegExp, string][])(
    "lets anybody be %s by a button, and says on every page that it is one",
    async (who, link) => {
      const { page, troubles } = await become(who);
      await expectAccessible(page);
      expect(await page.getByRole("link", { name: link }).count()).toBeGreaterThan(0);
      expectNoTrouble(troubles);
      await page.close();
    },
  );

  test("lets one be somebody else", async () => {
    const { page, troubles } = await become(/^Admin/);
    await page.getByRole("button", { name: /somebody else/ }).click();
    await page.getByRole("menuitem", { name: /Analyst/ }).click();
    // Then the others are others.
    await page.getByRole("link", { name: "Settings" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: /somebody else/ }).click();
    await page.getByRole("menuitem", { name: /^Admin/ }).waitFor();
    expect(await page.getByRole("menuitem", { name: /^Analyst/ }).count()).toBe(0);
    expectNoTrouble(troubles);
    await page.close();
  });

  test.skipIf(PICTURES === undefined)("is what the pictures of the documentation show", async () => {
    const { page } = await become(/^Admin/);
    await page.setViewportSize({ width: 1280, height: 800 });
    const shots = {
      overview: "/console",
      usage: "/console/usage?range=last_12_months&by=product",
    };
    for (const [name, path] of Object.entries(shots)) {
      // Twice: at first its files are read from the disk, which takes longer.
      for (const time of ["first", "second"]) {
        await page.goto(`${demo.url}${path}`);
        await page.waitForLoadState("networkidle");
        expect([time, await page.getByRole("alert").count()]).toEqual([time, 0]);
      }
      await page.screenshot({ path: join(PICTURES ?? "", `${name}.jpg`), type: "jpeg", quality: 55 });
    }
    await page.close();
  });
});
