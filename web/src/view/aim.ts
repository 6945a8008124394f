// Tells whether the user may be about to click: the pointer is over an element and moved a moment
// ago. What is under the pointer should not change then.
const AIM_MS = 5000;

export class Aim {
  private movedAt = -Infinity;
  private at = "";

  constructor(target: EventTarget, private readonly now: () => number = () => performance.now()) {
    target.addEventListener("pointermove", (event) => {
      // A browser may tell of a pointer that stays where it is, as when something moves below it.
      const { clientX, clientY } = event as PointerEvent;
      if (this.at === `${clientX} ${clientY}`) return;
      this.at = `${clientX} ${clientY}`;
      this.movedAt = this.now();
    }, { passive: true });
    target.addEventListener("pointerleave", () => { this.movedAt = -Infinity; });
  }

  get isOn(): boolean {
    return this.now() - this.movedAt < AIM_MS;
  }
}
