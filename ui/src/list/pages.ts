// The rows of a long list, fetched page by page as they scroll into view, in an LRU cache.

export type Page<Row> = { total: number; all?: number; rows: Row[] };
export type FetchPage<Row> = (from: number, limit: number, signal: AbortSignal) => Promise<Page<Row>>;

export const PAGE_ROWS = 200;
const KEPT_PAGES = 40;

type CachedPage<Row> = { rows: Row[]; round: number };

export class PagedRows<Row> {
  total = 0;
  /** The number of rows without the filter. */
  all = 0;
  error: unknown = undefined;
  /** Whether the first page has arrived. */
  isKnown = false;

  private readonly pages = new Map<number, CachedPage<Row>>();
  private readonly inFlight = new Map<number, AbortController>();
  private round = 0;
  private wanted: [number, number] = [0, 0];

  constructor(
    private readonly fetchPage: FetchPage<Row>,
    private readonly onChange: () => void,
  ) {}

  /** Rows that are already in memory, available at once. */
  static of<Row>(list: readonly Row[], all: number, onChange: () => void): PagedRows<Row> {
    const page = (from: number, limit: number): Page<Row> => ({ total: list.length, all, rows: list.slice(from, from + limit) });
    const rows = new PagedRows<Row>(async (from, limit) => page(from, limit), onChange);
    const pages = Math.min(KEPT_PAGES, Math.max(1, Math.ceil(list.length / PAGE_ROWS)));
    for (let n = pages - 1; n >= 0; n--) rows.take(n, page(n * PAGE_ROWS, PAGE_ROWS), 0);
    return rows;
  }

  get(index: number): Row | undefined {
    return this.pages.get(Math.floor(index / PAGE_ROWS))?.rows[index % PAGE_ROWS];
  }

  /** The index of the first cached row that matches. */
  find(fits: (row: Row) => boolean): number | null {
    for (const [page, { rows }] of this.pages) {
      const at = rows.findIndex(fits);
      if (at >= 0) return page * PAGE_ROWS + at;
    }
    return null;
  }

  /** Sets the visible rows: fetches missing pages, and aborts requests for pages that are out of view. */
  want(first: number, last: number): void {
    this.wanted = [first, last];
    const pages = this.visiblePages();
    for (const [page, controller] of this.inFlight) {
      if (pages.includes(page)) continue;
      controller.abort();
      this.inFlight.delete(page);
    }
    for (const page of pages) {
      const kept = this.pages.get(page);
      if (kept !== undefined) {
        this.pages.delete(page);
        this.pages.set(page, kept);
      }
      if ((kept === undefined || kept.round < this.round) && !this.inFlight.has(page)) void this.fetch(page);
    }
  }

  /** Fetches the visible pages again after a change; the old rows stay until then. */
  refresh(): void {
    this.round += 1;
    this.want(...this.wanted);
  }

  /** Loads the page of one row, for walking through the list. */
  async load(index: number): Promise<Row | undefined> {
    if (this.get(index) === undefined) await this.fetch(Math.floor(index / PAGE_ROWS));
    return this.get(index);
  }

  close(): void {
    for (const controller of this.inFlight.values()) controller.abort();
    this.inFlight.clear();
  }

  private visiblePages(): number[] {
    const [first, last] = this.wanted;
    const from = Math.floor(first / PAGE_ROWS);
    const to = Math.floor(Math.max(first, last - 1) / PAGE_ROWS);
    return Array.from({ length: to - from + 1 }, (_, n) => from + n);
  }

  private async fetch(page: number): Promise<void> {
    const controller = new AbortController();
    this.inFlight.set(page, controller);
    const round = this.round;
    try {
      const answer = await this.fetchPage(page * PAGE_ROWS, PAGE_ROWS, controller.signal);
      if (controller.signal.aborted) return;
      this.take(page, answer, round);
    } catch (error) {
      if (controller.signal.aborted) return;
      this.error = error;
    }
    if (this.inFlight.get(page) === controller) this.inFlight.delete(page);
    // A change during the request makes its response stale: fetch again.
    if (round < this.round && this.error === undefined) this.want(...this.wanted);
    this.onChange();
  }

  private take(page: number, answer: Page<Row>, round: number): void {
    this.total = answer.total;
    this.all = answer.all ?? answer.total;
    this.error = undefined;
    this.isKnown = true;
    this.pages.set(page, { rows: answer.rows, round });
    for (const oldest of this.pages.keys()) {
      if (this.pages.size <= KEPT_PAGES) break;
      this.pages.delete(oldest);
    }
  }
}
