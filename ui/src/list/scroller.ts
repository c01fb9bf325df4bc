// The visible rows of a long list. Browsers can't scroll more than some ten million pixels, so a longer list is scaled:
// dragging the scroll bar covers all of it, while the wheel and the keys still move by rows.

/** The tallest scrollable content, in pixels. */
export const TALLEST_PX = 8_000_000;

export type Range = { first: number; last: number; shift: number };

export class Scroller {
  total = 0;
  /** The height of the viewport, in pixels. */
  viewport = 0;
  /** The top of the viewport, in pixels of the unscaled list. */
  position = 0;
  private scrollTop = 0;

  constructor(readonly rowHeight: number) {}

  get contentHeight(): number {
    return Math.min(this.fullHeight, TALLEST_PX);
  }

  get isScaled(): boolean {
    return this.fullHeight > TALLEST_PX;
  }

  get isAtEnd(): boolean {
    return this.position >= this.lastPosition - 2;
  }

  /** Whether the browser has scrolled since the last known position. */
  isBehind(scrollTop: number): boolean {
    return Math.abs(scrollTop - this.scrollTop) > 1;
  }

  /** Handles a scroll event. */
  scrolled(scrollTop: number): void {
    const delta = scrollTop - this.scrollTop;
    this.scrollTop = scrollTop;
    const lastTop = Math.max(0, this.contentHeight - this.viewport);
    if (!this.isScaled) this.position = scrollTop;
    else if (scrollTop <= 0) this.position = 0;
    else if (scrollTop >= lastTop - 1) this.position = this.lastPosition;
    else if (Math.abs(delta) <= this.viewport * 2) this.position += delta;
    else this.position = (scrollTop / lastTop) * this.lastPosition;
    this.clamp();
  }

  /** The scroll position that matches the current one, for the browser. */
  settle(): number {
    this.clamp();
    const lastTop = Math.max(0, this.contentHeight - this.viewport);
    this.scrollTop =
      this.isScaled && this.lastPosition > 0 ? (this.position / this.lastPosition) * lastTop : this.position;
    return this.scrollTop;
  }

  /** Scrolls as little as needed to show a row with `margin` rows around it. */
  reveal(row: number, margin = 1): void {
    const top = (row - margin) * this.rowHeight;
    const bottom = (row + 1 + margin) * this.rowHeight;
    if (top < this.position) this.position = top;
    else if (bottom > this.position + this.viewport) this.position = bottom - this.viewport;
    this.clamp();
  }

  /** Scrolls a row to the top or the middle. */
  show(row: number, place: "top" | "middle"): void {
    this.position = place === "top" ? row * this.rowHeight : (row + 0.5) * this.rowHeight - this.viewport / 2;
    this.clamp();
  }

  toEnd(): void {
    this.position = this.lastPosition;
  }

  /** The rows to draw, with some more on either side, and the vertical shift of the first one. */
  range(overscan: number): Range {
    const first = Math.max(0, Math.floor(this.position / this.rowHeight) - overscan);
    const last = Math.min(this.total, Math.ceil((this.position + this.viewport) / this.rowHeight) + overscan);
    return { first, last, shift: this.scrollTop + first * this.rowHeight - this.position };
  }

  private get fullHeight(): number {
    return this.total * this.rowHeight;
  }

  private get lastPosition(): number {
    return Math.max(0, this.fullHeight - this.viewport);
  }

  private clamp(): void {
    this.position = Math.min(Math.max(0, this.position), this.lastPosition);
  }
}
