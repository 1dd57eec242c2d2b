export { EventsPage, ExplorerPage } from "./explorer_page.tsx";
export { ViewsPage } from "./views_page.tsx";
