export { EventsPage, ExplorerPage, MyEventsPage, MyExplorerPage } from "./explorer_page.tsx";
export { MyViewsPage, ViewsPage } from "./views_page.tsx";
