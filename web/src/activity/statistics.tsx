// How many calls there were, and how long they took. Bar charts need no library.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { formatBytes, formatDuration, pluralize } from '../lib/format';
import { useLoad } from '../lib/hooks';
import { EmptyState, Failure, Loading } from '../lib/states';
import type { CallStatistics, Statistics as StatisticsData } from './model';

const POLL_MS = 5000; // while the tab is visible

export function Statistics(): JSX.Element {
  const loaded = useLoad((signal) => api<StatisticsData>('stats', { signal }), []);
  const reload = useRef(loaded.reload);
  reload.current = loaded.reload;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload.current(), POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const stats = loaded.value;
  if (!stats) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.reload} /> : <Loading />;
  return (
    <div class="statistics">
      <dl class="tiles">
        <Tile name="Calls" value={stats.calls.toLocaleString()} detail={`since ${new Date(stats.since * 1000).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' })}`} />
        <Tile name="Failed" value={stats.failed.toLocaleString()} detail={stats.calls ? `${((100 * stats.failed) / stats.calls).toLocaleString(undefined, { maximumFractionDigits: 1 })} %` : 'none'} />
        <Tile name="Connected" value={stats.connected.toLocaleString()} detail="assistants now" />
        <Tile name="Received" value={formatBytes(stats.bytesIn)} detail="from assistants" />
        <Tile name="Sent" value={formatBytes(stats.bytesOut)} detail="to assistants" />
      </dl>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={loaded.reload} />}
      {stats.calls === 0 ? <EmptyState icon="activity" title="No calls yet"><p>Once an assistant calls a tool, this shows how often, and how long the calls take.</p></EmptyState> : (
        <>
          <MinuteChart minutes={stats.minutes} />
          <CallTable title="Tools" rows={stats.tools} buckets={stats.buckets} />
          <CallTable title="Methods" rows={stats.methods} buckets={stats.buckets} />
        </>
      )}
    </div>
  );
}

function Tile({ name, value, detail }: { name: string; value: string; detail: string }): JSX.Element {
  return <div class="card"><dt>{name}</dt><dd><strong>{value}</strong><span class="quiet">{detail}</span></dd></div>;
}

/** The calls of the last hour: one bar per minute, with the failed ones in another colour at its foot. */
function MinuteChart({ minutes }: { minutes: StatisticsData['minutes'] }): JSX.Element {
  const figure = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(720);
  // As wide as its container, not scaled, so that its text has the same size as elsewhere.
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, Math.round(entry.contentRect.width))));
    if (figure.current) observer.observe(figure.current);
    return () => observer.disconnect();
  }, []);
  const [height, left, foot] = [170, 32, 18];
  const labelStep = width < 500 ? 30 : 15; // minutes between two times on the axis
  const most = Math.max(1, ...minutes.calls);
  const step = (width - left) / minutes.calls.length;
  const heightOf = (count: number): number => (count / most) * (height - foot - 8);
  const total = minutes.calls.reduce((sum, calls) => sum + calls, 0);
  const slowest = Math.max(0, ...minutes.ms);
  return (
    <figure class="card plot">
      <figcaption><h2>Calls in the last hour</h2><span class="quiet">{pluralize(total, 'call')}, slowest minute {formatDuration(slowest) || '0 ms'} on average</span></figcaption>
      <svg ref={figure} viewBox={`0 0 ${width} ${height}`} height={height} role="img" aria-label={`${pluralize(total, 'call')} in the last hour, at most ${most} in a minute`}>
        <line class="axis" x1={left} x2={width} y1={height - foot} y2={height - foot} />
        <text x={left - 6} y={height - foot} text-anchor="end">0</text>
        <text x={left - 6} y="14" text-anchor="end">{most}</text>
        {minutes.calls.map((count, i) => {
          const failed = minutes.failed[i] ?? 0;
          const at = left + i * step;
          const time = new Date((minutes.start + 60 * i) * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
          return (
            <g key={minutes.start + i}>
              <title>{`${time}: ${pluralize(count, 'call')}${failed ? `, ${failed} failed` : ''}, ${formatDuration(minutes.ms[i] ?? 0)} on average`}</title>
              <rect class="hit" x={at} y="0" width={step} height={height - foot} />
              <rect class="bar" x={at + 1} y={height - foot - heightOf(count)} width={Math.max(1, step - 2)} height={heightOf(count)} rx="1.5" />
              {failed > 0 && <rect class="bar bad" x={at + 1} y={height - foot - heightOf(failed)} width={Math.max(1, step - 2)} height={heightOf(failed)} rx="1.5" />}
              {i % labelStep === 0 && <text x={at} y={height - 3}>{time}</text>}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function CallTable({ title, rows, buckets }: { title: string; rows: CallStatistics[]; buckets: number[] }): JSX.Element | null {
  if (!rows.length) return null;
  return (
    <section class="card statistics-table" aria-label={title}>
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
                <td class="number">{`≤ ${formatDuration(row.p50)}`}</td>
                <td class="number">{`≤ ${formatDuration(row.p95)}`}</td>
                <td class="number">{formatDuration(row.max)}</td>
                <td><Histogram row={row} buckets={buckets} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Histogram({ row, buckets }: { row: CallStatistics; buckets: number[] }): JSX.Element {
  const most = Math.max(1, ...row.counts);
  const step = 9;
  const nameBucket = (i: number): string => (i < buckets.length ? `up to ${formatDuration(buckets[i] ?? 0)}` : `more than ${formatDuration(buckets.at(-1) ?? 0)}`);
  const label = row.counts.flatMap((count, i) => (count ? [`${count} ${nameBucket(i)}`] : [])).join(', ');
  return (
    <svg class="histogram" viewBox={`0 0 ${step * row.counts.length} 26`} role="img" aria-label={label}>
      <title>{label}</title>
      {row.counts.map((count, i) => <rect key={i} class={count ? 'bar' : 'none'} x={i * step + 1} width={step - 2} y={count ? 25 - Math.max(2, (count / most) * 24) : 24} height={count ? Math.max(2, (count / most) * 24) : 1} />)}
    </svg>
  );
}
