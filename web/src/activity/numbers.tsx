// Counters and how long calls take. The plots are drawn here: bars need no library.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { Empty, Failure, Loading, plural, useLoad } from '../lib/ui';
import { bytes, ms, type Row, type Stats } from './model';

const LOOK_MS = 5000; // between two requests while the tab is visible

export function Numbers(): JSX.Element {
  const loaded = useLoad((signal) => api<Stats>('stats', { signal }), []);
  const latest = useRef(loaded.again);
  latest.current = loaded.again;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const stats = loaded.value;
  if (!stats) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.again} /> : <Loading />;
  return (
    <div class="numbers">
      <dl class="tiles">
        <Tile name="Calls" value={stats.calls.toLocaleString()} more={`since ${new Date(stats.since * 1000).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' })}`} />
        <Tile name="Failed" value={stats.failed.toLocaleString()} more={stats.calls ? `${((100 * stats.failed) / stats.calls).toLocaleString(undefined, { maximumFractionDigits: 1 })} %` : 'none'} />
        <Tile name="Connected" value={stats.connected.toLocaleString()} more="assistants now" />
        <Tile name="Received" value={bytes(stats.bytesIn)} more="from assistants" />
        <Tile name="Sent" value={bytes(stats.bytesOut)} more="to assistants" />
      </dl>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={loaded.again} />}
      {stats.calls === 0 ? <Empty icon="activity" title="No calls yet"><p>A chart of the calls and how long they take appears here.</p></Empty> : (
        <>
          <Minutes minutes={stats.minutes} />
          <Table title="Tools" rows={stats.tools} buckets={stats.buckets} />
          <Table title="Methods" rows={stats.methods} buckets={stats.buckets} />
        </>
      )}
    </div>
  );
}

function Tile({ name, value, more }: { name: string; value: string; more: string }): JSX.Element {
  return <div class="card"><dt>{name}</dt><dd><strong>{value}</strong><span class="quiet">{more}</span></dd></div>;
}

/** Calls of the last hour, a bar a minute, the failed ones in another colour at the foot. */
function Minutes({ minutes }: { minutes: Stats['minutes'] }): JSX.Element {
  const figure = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(720);
  // As wide as there is room, so that its text has the same size as elsewhere.
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, Math.round(entry.contentRect.width))));
    if (figure.current) watch.observe(figure.current);
    return () => watch.disconnect();
  }, []);
  const [height, left, foot] = [170, 32, 18];
  const labels = width < 500 ? 30 : 15; // minutes between two times on the axis
  const most = Math.max(1, ...minutes.calls);
  const step = (width - left) / minutes.calls.length;
  const tall = (count: number): number => (count / most) * (height - foot - 8);
  const total = minutes.calls.reduce((sum, calls) => sum + calls, 0);
  const slowest = Math.max(0, ...minutes.ms);
  return (
    <figure class="card plot">
      <figcaption><h2>Calls in the last hour</h2><span class="quiet">{plural(total, 'call')}, slowest minute {ms(slowest) || '0 ms'} on average</span></figcaption>
      <svg ref={figure} viewBox={`0 0 ${width} ${height}`} height={height} role="img" aria-label={`${plural(total, 'call')} in the last hour, at most ${most} in a minute`}>
        <line class="axis" x1={left} x2={width} y1={height - foot} y2={height - foot} />
        <text x={left - 6} y={height - foot} text-anchor="end">0</text>
        <text x={left - 6} y="14" text-anchor="end">{most}</text>
        {minutes.calls.map((count, i) => {
          const failed = minutes.failed[i] ?? 0;
          const at = left + i * step;
          const time = new Date((minutes.start + 60 * i) * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
          return (
            <g key={minutes.start + i}>
              <title>{`${time}: ${plural(count, 'call')}${failed ? `, ${failed} failed` : ''}, ${ms(minutes.ms[i] ?? 0)} on average`}</title>
              <rect class="hit" x={at} y="0" width={step} height={height - foot} />
              <rect class="bar" x={at + 1} y={height - foot - tall(count)} width={Math.max(1, step - 2)} height={tall(count)} rx="1.5" />
              {failed > 0 && <rect class="bar bad" x={at + 1} y={height - foot - tall(failed)} width={Math.max(1, step - 2)} height={tall(failed)} rx="1.5" />}
              {i % labels === 0 && <text x={at} y={height - 3}>{time}</text>}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function Table({ title, rows, buckets }: { title: string; rows: Row[]; buckets: number[] }): JSX.Element | null {
  if (!rows.length) return null;
  return (
    <section class="card numbers-table" aria-label={title}>
      <h2>{title}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Times of ${title.toLowerCase()}`}>
        <table>
          <thead><tr><th scope="col">Name</th><th scope="col" class="number">Calls</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Median</th><th scope="col" class="number">95 %</th><th scope="col" class="number">Slowest</th><th scope="col">Distribution</th></tr></thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <th scope="row"><code>{row.name}</code></th>
                <td class="number">{row.calls.toLocaleString()}</td>
                <td class="number">{row.failed > 0 ? <strong class="entry-bad">{row.failed}</strong> : 0}</td>
                <td class="number">{`≤ ${ms(row.p50)}`}</td>
                <td class="number">{`≤ ${ms(row.p95)}`}</td>
                <td class="number">{ms(row.max)}</td>
                <td><Histogram row={row} buckets={buckets} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Histogram({ row, buckets }: { row: Row; buckets: number[] }): JSX.Element {
  const most = Math.max(1, ...row.counts);
  const step = 9;
  const name = (i: number): string => (i < buckets.length ? `up to ${ms(buckets[i] ?? 0)}` : `more than ${ms(buckets.at(-1) ?? 0)}`);
  const words = row.counts.flatMap((count, i) => (count ? [`${count} ${name(i)}`] : [])).join(', ');
  return (
    <svg class="histogram" viewBox={`0 0 ${step * row.counts.length} 26`} role="img" aria-label={words}>
      <title>{words}</title>
      {row.counts.map((count, i) => <rect key={i} class={count ? 'bar' : 'none'} x={i * step + 1} width={step - 2} y={count ? 25 - Math.max(2, (count / most) * 24) : 24} height={count ? Math.max(2, (count / most) * 24) : 1} />)}
    </svg>
  );
}
