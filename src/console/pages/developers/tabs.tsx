import { BASE, isMine } from "../../app/find_page.ts";
import { PAGES } from "../../app/pages.ts";
import { Tabs } from "../../ui/page.tsx";

/** The pages for who writes programs. */
export function DeveloperTabs({ at }: { at: string }) {
  const pages = PAGES.filter((page) => page.path.startsWith("/developers") && isMine(page));
  return (
    <Tabs
      label="Developers"
      of={pages.map(({ path, title }) => ({ title, href: `${BASE}${path}`, is_open: path === at }))}
    />
  );
}
