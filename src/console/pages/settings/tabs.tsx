import { BASE, isMine } from "../../app/find_page.ts";
import { PAGES } from "../../app/pages.ts";
import { Tabs } from "../../ui/page.tsx";

/** The pages of the settings that one may see. */
export function SettingsTabs({ at }: { at: string }) {
  const pages = PAGES.filter(
    (page) => page.path.startsWith("/settings") && !page.path.includes(":") && isMine(page),
  );
  return (
    <Tabs
      label="Settings"
      of={pages.map(({ path, title }) => ({ title, href: `${BASE}${path}`, is_open: path === at }))}
    />
  );
}
