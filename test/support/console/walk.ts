import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import type { Trouble } from "./browser.ts";

const LOOK_MS = 20;
const AXE = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

const STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Holds a page to WCAG 2.2 AA, as far as axe-core can. */
export async function expectAccessible(page: Page): Promise<void> {
  // Half a megabyte, which a page keeps until it is loaded again.
  if (await page.evaluate<boolean>(`typeof axe === "undefined"`)) await page.evaluate(AXE);
  // A page that has just become dark, or another, is drawn first.
  await page.evaluate(
    `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(null))))`,
  );
  // Of what it finds right nothing is read.
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, { runOnly: ${JSON.stringify(STANDARD)}, rules: { region: { enabled: false } }, resultTypes: ["violations"], selectors: false, preload: false, iframes: false }).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })) })))`,
  );
  expect(
    violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n")}`,
    ),
  ).toEqual([]);
}

/** Resolves once what the last click or key changed has been drawn, and its questions are asked: effects run after a frame. */
const EFFECTS_DONE = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))`;

/** Waits until the page is there and nothing is loading any more. */
export async function settle(page: Page): Promise<void> {
  await page.waitForSelector("h1");
  await page.evaluate(EFFECTS_DONE);
  // By locators: the page's policy allows no evaluation of texts.
  const loading = page.locator(".skeleton, [aria-busy=true]");
  while ((await loading.count()) > 0) await page.waitForTimeout(LOOK_MS);
}

/**
 * Goes to an address of the console as its links do, without loading it anew, and waits until it is there. Where it has
 * another path, the page that was shown is gone by then.
 */
export async function goTo(page: Page, address: string): Promise<void> {
  const before = new URL(page.url());
  const { href, pathname, search } = new URL(address, before);
  if (href !== before.href) {
    const shown = pathname === before.pathname ? null : await page.locator("h1").elementHandle();
    await page.evaluate(
      `{ const link = document.createElement("a"); link.href = ${JSON.stringify(pathname + search)}; document.body.append(link); link.click(); link.remove(); }`,
    );
    while (await shown?.evaluate((heading) => heading.isConnected)) await page.waitForTimeout(LOOK_MS);
  }
  await settle(page);
}

/** No console error, no violation of the policy, no request to elsewhere. */
export function expectNoTrouble(troubles: readonly Trouble[]): void {
  expect(troubles).toEqual([]);
}

const WIDE = `document.documentElement.scrollWidth <= window.innerWidth ? [] : [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1).slice(0, 5).map((element) => element.outerHTML.slice(0, 200))`;

/** Nothing is wider than the window, once charts have taken their new size. */
export async function expectNoOverflow(page: Page): Promise<void> {
  let wide = await page.evaluate<string[]>(WIDE);
  for (let tries = 0; wide.length > 0 && tries < 40; tries++) {
    await page.waitForTimeout(50);
    wide = await page.evaluate<string[]>(WIDE);
  }
  expect(wide).toEqual([]);
}
