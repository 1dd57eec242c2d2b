const BROWSERS = [
  ["Edg", "Edge"],
  ["OPR", "Opera"],
  ["Firefox", "Firefox"],
  ["Chrome", "Chrome"],
  ["Safari", "Safari"],
] as const;
const SYSTEMS = [
  ["Android", "Android"],
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Windows", "Windows"],
  ["Mac OS", "macOS"],
  ["Linux", "Linux"],
] as const;

/** What people call a browser, by what it calls itself: "Firefox on Windows". Each claims to be those after it, too. */
export function browserName(user_agent: string | null): string {
  if (user_agent === null) return "Unknown";
  const browser = BROWSERS.find(([word]) => user_agent.includes(`${word}/`))?.[1];
  const system = SYSTEMS.find(([word]) => user_agent.includes(word))?.[1];
  if (browser === undefined) return user_agent.split(" ")[0] ?? user_agent;
  return system === undefined ? browser : `${browser} on ${system}`;
}
