// Rows of a long list, fetched page by page as they are looked at, the least recently seen forgotten first.

export type Page<Row> = { total: number; all?: number; rows: Row[] };
export type FetchPage<Row> = (from: number, limit: number, signal: AbortSignal) => Promise<Page<Row>>;

export const PAGE_ROWS = 200;
const KEPT_PAGES = 40;

type Kept<Row> = { rows: Row[]; round: number };

export class PagedRows<Row> {
  total = 0;
  /** How many there are without the filter. */
  all = 0;
  error: unknown = undefined;
  /** Whether the first answer has come. */
  isKnown = false;

  private readonly pages = new Map<number, Kept<Row>>();
  private readonly asking = new Map<number, AbortController>();
  private round = 0;
  private wanted: [number, number] = [0, 0];

  constructor(
    private readonly fetchPage: FetchPage<Row>,
    private readonly onChange: () => void,
  ) {}

  /** Rows that are here already: they are seen at once, without a question. */
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

  /** The index of the first row that fits, among those that are here. */
  find(fits: (row: Row) => boolean): number | null {
    for (const [page, { rows }] of this.pages) {
      const at = rows.findIndex(fits);
      if (at >= 0) return page * PAGE_ROWS + at;
    }
    return null;
  }

  /** These rows are looked at: asks for what is missing, and no longer for what is out of sight. */
  want(first: number, last: number): void {
    this.wanted = [first, last];
    const pages = this.pagesInSight();
    for (const [page, controller] of this.asking) {
      if (pages.includes(page)) continue;
      controller.abort();
      this.asking.delete(page);
    }
    for (const page of pages) {
      const kept = this.pages.get(page);
      if (kept !== undefined) {
        this.pages.delete(page);
        this.pages.set(page, kept);
      }
      if ((kept === undefined || kept.round < this.round) && !this.asking.has(page)) void this.ask(page);
    }
  }

  /** Something has changed: what is in sight is asked for again, and stays until the answer comes. */
  refresh(): void {
    this.round += 1;
    this.want(...this.wanted);
  }

  /** A page of its own, for walking through all rows. */
  async load(index: number): Promise<Row | undefined> {
    if (this.get(index) === undefined) await this.ask(Math.floor(index / PAGE_ROWS));
    return this.get(index);
  }

  close(): void {
    for (const controller of this.asking.values()) controller.abort();
    this.asking.clear();
  }

  private pagesInSight(): number[] {
    const [first, last] = this.wanted;
    const from = Math.floor(first / PAGE_ROWS);
    const to = Math.floor(Math.max(first, last - 1) / PAGE_ROWS);
    return Array.from({ length: to - from + 1 }, (_, n) => from + n);
  }

  private async ask(page: number): Promise<void> {
    const controller = new AbortController();
    this.asking.set(page, controller);
    const round = this.round;
    try {
      const answer = await this.fetchPage(page * PAGE_ROWS, PAGE_ROWS, controller.signal);
      if (controller.signal.aborted) return;
      this.take(page, answer, round);
    } catch (error) {
      if (controller.signal.aborted) return;
      this.error = error;
    }
    if (this.asking.get(page) === controller) this.asking.delete(page);
    // What has changed while the answer was on its way is asked for again.
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
