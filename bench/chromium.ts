import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium } from "playwright-core";

/** Debian's Chromium without windows, which takes less to run, and its whole one. */
const DEBIANS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"] as const;

/** Where Chromium is: CHROMIUM_PATH, or Debian's. */
export const CHROMIUM_PATH = process.env.CHROMIUM_PATH ?? DEBIANS.find(existsSync) ?? DEBIANS[0];

/** Starts Chromium without what it does by itself. Errors: throws where there is none. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM_PATH,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Gives a context the cookie of a new session of the console. Errors: throws what the service answers. */
export async function signInTo(
  context: BrowserContext,
  url: string,
  user: { email: string; password: string },
): Promise<void> {
  const response = await fetch(`${url}/api/v1/session`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify(user),
  });
  const cookie = /^([^=]+)=([^;]+)/.exec(response.headers.get("set-cookie") ?? "");
  if (!response.ok || cookie === null)
    throw new Error(`Cannot sign ${user.email} in: ${await response.text()}`);
  const [, name = "", value = ""] = cookie;
  await context.addCookies([{ name, value, url, httpOnly: true, sameSite: "Strict" }]);
}
